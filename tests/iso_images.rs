//! ISO images of seeds, Secrets and ConfigMaps, read back by `bsdtar`: a reader that knows nothing of the writer.
//!
//! An image has a tree for Linux and the BSDs (Rock Ridge) and one for Windows (Joliet); libarchive is told which to read.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::storage::{Build, Files, Images, Sources, StorageError, iso9660, plan};
use serde_json::{Value, json};

/// A folder that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("iso-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Clone, Copy)]
enum Names {
    RockRidge,
    Joliet,
}

/// Every file below a folder, by its path.
fn files_below(folder: &Path, above: &str, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{above}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// What `bsdtar` finds in an image.
fn read_back(test: &str, image: &[u8], names: Names) -> Files {
    let folder = Folder::new(&format!("{test}-{}", matches!(names, Names::Joliet)));
    let (file, out) = (folder.0.join("image.iso"), folder.0.join("out"));
    fs::write(&file, image).unwrap();
    fs::create_dir(&out).unwrap();
    let without = match names {
        Names::RockRidge => "iso9660:!joliet",
        Names::Joliet => "iso9660:!rockridge",
    };
    let mut bsdtar = Command::new("bsdtar");
    // names beyond ASCII stay what they are only in a UTF-8 locale
    bsdtar.env("LC_ALL", "C.UTF-8").args(["--options", without, "-xf"]).arg(&file).arg("-C").arg(&out);
    let output = bsdtar.output().unwrap_or_else(|e| panic!("bsdtar: {e}; `deploy/setup.sh test` installs it"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    let mut found = Files::new();
    files_below(&out, "", &mut found);
    found
}

/// The image of the only volume of a machine.
fn image_of(volume: &Value, sources: &Sources) -> Result<Vec<u8>, StorageError> {
    let mut volume = volume.clone();
    volume["name"] = json!("v");
    let vmi: VirtualMachineInstance = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "lab"},
        "spec": {
            "domain": {"devices": {"disks": [{"name": "v"}]}, "firmware": {"uuid": "u-1"}},
            "volumes": [volume]
        }
    }))
    .unwrap();
    let one = || {
        let mut builds = plan(&vmi, &Paths::default(), &Images::new(), sources)?;
        match builds.pop() {
            Some(Build::Iso { content, .. }) if builds.is_empty() => Ok(content),
            other => panic!("{other:?}"),
        }
    };
    let image = one()?;
    assert!(image == one()?, "the same machine gives another image");
    Ok(image)
}

/// Contents that text tools would spoil: no newline at the end, no UTF-8, every byte, a megabyte, around a sector.
fn contents() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(), b"x".to_vec(), b"line\nno end".to_vec(), b"\xff\xfe\0\x80".to_vec(), (0..=255).collect()];
    all.extend([2047, 2048, 2049].map(|n| vec![0xa5; n]));
    all.push((0..1u32 << 20).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect());
    all
}

#[test]
fn a_config_map_and_a_secret_come_back_with_their_names_and_bytes() {
    let long = format!("{}.conf", "n".repeat(195));
    let longest = "k".repeat(253);
    let mut files: Files = contents().into_iter().enumerate().map(|(i, content)| (format!("file_{i}.Bin"), content)).collect();
    for name in [".hidden", "UPPER", "two.dots.txt", &long, &longest] {
        files.insert(name.to_owned(), name.as_bytes().to_vec());
    }
    let mut sources = Sources::default();
    sources.config_maps.insert("data".into(), files.clone());
    sources.secrets.insert("data".into(), files.clone());
    for volume in [json!({"configMap": {"name": "data", "volumeLabel": "settings"}}), json!({"secret": {"secretName": "data"}})] {
        let image = image_of(&volume, &sources).unwrap();
        assert!(read_back("maps", &image, Names::RockRidge) == files, "{volume}");
        let windows = read_back("maps", &image, Names::Joliet);
        assert_eq!(windows.len(), files.len());
        // Joliet ends at 64 characters; the bytes are all there
        assert!(files.iter().filter(|(name, _)| name.len() <= 64).all(|(name, content)| windows.get(name) == Some(content)));
        for name in [&long, &longest] {
            assert!(windows.iter().any(|(short, content)| short.len() == 64 && content == name.as_bytes()), "{name}");
        }
    }
}

#[test]
fn seeds_come_back_whole_whatever_the_user_data_is() {
    for (i, user) in contents().into_iter().enumerate().filter(|(_, content)| !content.is_empty()) {
        let mut sources = Sources::default();
        sources.secrets.insert("seed".into(), Files::from([("userdata".to_owned(), user.clone())]));
        let secret = json!({"secretRef": {"name": "seed"}});
        for (kind, name) in [("cloudInitNoCloud", "user-data"), ("cloudInitConfigDrive", "openstack/latest/user_data")] {
            let image = image_of(&json!({kind: secret}), &sources).unwrap();
            for names in [Names::RockRidge, Names::Joliet] {
                let found = read_back("seeds", &image, names);
                assert!(found.get(name) == Some(&user), "content {i} of {name}");
                assert_eq!(found.len(), 2, "beside it lies the meta data");
            }
        }
    }
}

#[test]
fn names_in_every_script_and_as_deep_as_may_be_come_back() {
    let files: Files = ["ümläut.txt", "日本語/設定.yaml", "a b/c'd\"e", "1/2/3/4/5/6/7/file"]
        .into_iter()
        .map(|name| (name.to_owned(), name.as_bytes().to_vec()))
        .chain((0..400).map(|n| (format!("many/file-with-a-long-name-{n:03}"), vec![b'x'; n])))
        .collect();
    let image = iso9660::build("everything", &files).unwrap();
    for names in [Names::RockRidge, Names::Joliet] {
        let found = read_back("names", &image, names);
        assert!(found == files, "{:?}", found.keys().filter(|name| !files.contains_key(*name)).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_become_a_file_is_refused_with_its_field() {
    let named = |name: &str| BTreeMap::from([("data".to_owned(), Files::from([(name.to_owned(), Vec::new())]))]);
    for name in ["n".repeat(256), "../up".to_owned(), "nul\0".to_owned()] {
        let sources = Sources { config_maps: named(&name), secrets: named(&name), ..Sources::default() };
        for volume in [json!({"configMap": {"name": "data"}}), json!({"secret": {"secretName": "data"}})] {
            let error = image_of(&volume, &sources).unwrap_err();
            assert_eq!(error.field, "spec.volumes[0]", "{error}");
            assert!(error.message.contains(&format!("file name {name:?}")), "{error}");
        }
    }
}
