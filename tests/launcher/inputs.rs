//! Files that are at fault: the field is named, the exit code is 1, nothing is started.

use std::time::{Duration, Instant};

use crate::guest::{Folder, refused, repository};

/// Every file in tests/invalid begins with the fields at fault: `# fields: spec.x, spec.y`.
#[test]
fn every_fault_is_told_with_its_field_and_line() {
    let scratch = Folder::new();
    let mut count = 0;
    for entry in std::fs::read_dir(repository("tests/invalid")).expect("the folder").map(|e| e.expect("an entry").path()) {
        let text = std::fs::read_to_string(&entry).expect("a text");
        let first = text.lines().next().unwrap_or_default();
        let fields =
            first.strip_prefix("# fields: ").unwrap_or_else(|| panic!("{}: the first line must be `# fields: …`", entry.display()));
        let path = entry.display().to_string();
        let output = refused(&scratch, &["--vmi".to_owned(), path.clone()]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{path}: {told}");
        for field in fields.split(", ") {
            let line = told.lines().find(|l| l.contains(field));
            let place = line.and_then(|l| l.split(&format!("{path}:")).nth(1));
            let number = place.and_then(|p| p.split(':').next()).and_then(|n| n.parse::<usize>().ok());
            assert!(number.is_some_and(|n| n >= 1 && n <= text.lines().count()), "{path}: {field} is not named with its line:\n{told}");
        }
        assert_eq!(scratch.list(), Vec::<String>::new(), "{path}: nothing was started");
        count += 1;
    }
    assert!(count >= 50, "there are only {count} files");
}

#[test]
fn what_is_no_manifest_is_refused_at_once() {
    let (scratch, files) = (Folder::new(), Folder::new());
    let garbage: Vec<u8> = (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let cases: [(&str, Vec<u8>); 6] = [
        ("empty", vec![]),
        ("garbage", garbage),
        ("large", vec![b' '; 100 << 20]),
        ("deep", "[".repeat(1 << 20).into_bytes()),
        ("deep-block", (0..2000).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>().into_bytes()),
        ("aliases", "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n".into()),
    ];
    for (name, content) in cases {
        let path = files.0.join(name);
        std::fs::write(&path, content).expect("a file");
        let begin = Instant::now();
        let output = refused(&scratch, &["--vmi".to_owned(), path.display().to_string()]);
        let took = begin.elapsed();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {told}");
        assert!(told.contains(name) && told.len() < 1000, "{name}: {told}");
        // a second on an idle machine; other guests are booting beside this test
        assert!(took < Duration::from_secs(5), "{name} took {took:?}");
    }
}
