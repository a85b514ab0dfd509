//! Names in the two trees: 8.3 for plain ISO, UCS-2 for Joliet.

use std::collections::BTreeSet;

/// A text padded with blanks to a field's length, in UCS-2 for Joliet. What does not fit is cut.
pub(super) fn padded(text: &str, len: usize, joliet: bool) -> Vec<u8> {
    let mut out = if joliet { ucs2(text) } else { text.as_bytes().to_vec() };
    out.truncate(len - len % if joliet { 2 } else { 1 });
    while out.len() < len {
        if joliet && out.len() % 2 == 0 {
            out.push(0);
        } else {
            out.push(b' ');
        }
    }
    if joliet && len % 2 == 1 {
        out[len - 1] = 0;
    }
    out
}

/// A text in big-endian UCS-2; characters beyond it become `_`.
pub(super) fn ucs2(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u16::try_from(u32::from(c)).unwrap_or(u16::from(b'_')).to_be_bytes()).collect()
}

/// A Joliet name: at most 64 characters, none that Windows forbids, unique in its folder.
pub(super) fn joliet(name: &str, taken: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    let clean: Vec<char> = name.chars().map(|c| if c.is_control() || "*/:;?\\".contains(c) { '_' } else { c }).collect();
    unique(taken, |n| {
        let suffix = if n == 0 { String::new() } else { format!("~{n}") };
        let kept: String = clean.iter().take(64 - suffix.len()).collect();
        ucs2(&(kept + &suffix))
    })
}

/// A plain name: 8.3, capital letters, digits and `_`, unique in its folder. Folders have no extension.
pub(super) fn plain(name: &str, folder: bool, taken: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    let d = |s: &str, n: usize| -> String {
        s.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).take(n).collect()
    };
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !folder && !stem.is_empty() => (d(stem, 8), d(extension, 3)),
        _ => (d(name, 8), String::new()),
    };
    unique(taken, |n| {
        let suffix = if n == 0 { String::new() } else { format!("{n:03}") };
        let kept: String = stem.chars().take(8 - suffix.len().min(7)).collect();
        let name = if folder { format!("{kept}{suffix}") } else { format!("{kept}{suffix}.{extension};1") };
        name.into_bytes()
    })
}

fn unique(taken: &mut BTreeSet<Vec<u8>>, candidate: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut n = 0;
    loop {
        let name = candidate(n);
        if taken.insert(name.clone()) {
            return name;
        }
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_short_and_unique() {
        let mut taken = BTreeSet::new();
        let names: Vec<_> = ["user-data", "user-data2", "network_data.json", ".hidden", "ümlaut"]
            .iter()
            .map(|n| String::from_utf8(plain(n, false, &mut taken)).unwrap())
            .collect();
        assert_eq!(names, ["USER_DAT.;1", "USER_001.;1", "NETWORK_.JSO;1", "_HIDDEN.;1", "_MLAUT.;1"]);
        assert_eq!(plain("openstack", true, &mut taken), b"OPENSTAC");
    }

    #[test]
    fn long_joliet_names_stay_unique() {
        let mut taken = BTreeSet::new();
        let (a, b) = (joliet(&"a".repeat(80), &mut taken), joliet(&"a".repeat(90), &mut taken));
        assert_ne!(a, b);
        assert!(a.len() == 128 && b.len() == 128);
    }
}
