//! Paths in images.

use crate::admission::{Cause, Path};

/// An absolute path to a file, without `.`, `..` and doubled slashes.
pub(crate) fn file(at: &Path, path: &str, causes: &mut Vec<Cause>) {
    if path == "/" {
        causes.push(Cause::invalid(at, "\"/\" is the root of the image; name a file in it"));
        return;
    }
    let given = path.strip_suffix('/').unwrap_or(path);
    let clean = given.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")));
    if !clean {
        causes.push(Cause::invalid(
            at,
            format!("{path:?} is no absolute path of a file; write it from the root on, without \".\" and \"..\""),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_root_on() {
        for (path, right) in [
            ("/disk/a.img", true),
            ("/disk/", true),
            ("/", false),
            ("disk/a.img", false),
            ("/disk/../a.img", false),
            ("/./a.img", false),
            ("//a.img", false),
            ("", false),
        ] {
            let mut causes = Vec::new();
            file(&Path::new("p"), path, &mut causes);
            assert_eq!(causes.is_empty(), right, "{path}");
        }
    }
}
