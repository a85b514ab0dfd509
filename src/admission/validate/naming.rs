//! The forms that Kubernetes demands of names. Each check says what would be right, or nothing when all is well.

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;
const PORT_NAME_LENGTH: usize = 15;

fn lower(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// Not empty, `inner` throughout and `outer` at both ends.
fn made_of(text: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if outer(*first) && outer(*last)) && bytes.iter().all(|b| inner(*b))
}

fn dns_label_form(text: &str) -> bool {
    made_of(text, lower, |b| lower(b) || b == b'-')
}

/// A DNS label: `my-name`.
pub(crate) fn dns_label(text: &str) -> Result<(), &'static str> {
    if text.len() <= LABEL_LENGTH && dns_label_form(text) {
        Ok(())
    } else {
        Err("use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
    }
}

/// A DNS subdomain: `my-name.example.com`, the form of most objects' names.
pub(crate) fn dns_subdomain(text: &str) -> Result<(), &'static str> {
    if text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(dns_label_form) {
        Ok(())
    } else {
        Err("use at most 253 lower-case letters, digits, dashes and dots, with a letter or digit at both ends of every part")
    }
}

fn name_form(text: &str) -> bool {
    text.len() <= LABEL_LENGTH
        && made_of(text, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The key of a label or annotation: `example.com/my.name`.
pub(crate) fn label_key(text: &str) -> Result<(), &'static str> {
    let fits = match text.split_once('/') {
        None => name_form(text),
        Some((prefix, name)) => dns_subdomain(prefix).is_ok() && name_form(name),
    };
    if fits {
        Ok(())
    } else {
        Err(
            "use a DNS name and a slash, or neither, and then at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        )
    }
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Result<(), &'static str> {
    if text.is_empty() || name_form(text) {
        Ok(())
    } else {
        Err("use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends")
    }
}

/// The name of a port.
pub(crate) fn port_name(text: &str) -> Result<(), &'static str> {
    let fits = text.len() <= PORT_NAME_LENGTH
        && made_of(text, lower, |b| lower(b) || b == b'-')
        && text.bytes().any(|b| b.is_ascii_lowercase())
        && !text.contains("--");
    if fits { Ok(()) } else { Err("use at most 15 lower-case letters, digits and single dashes between them, among them a letter") }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&str) -> Result<(), &'static str>;

    #[test]
    fn names_have_their_forms() {
        let long = "a".repeat(64);
        for (check, good, bad) in [
            (dns_label as Check, &["a", "a-1", "0"][..], &["", "A", "-a", "a-", "a.b", "a_b", &long][..]),
            (dns_subdomain, &["a", "a.b-c", &long], &["", "a..b", ".a", "a.", "A"]),
            (label_key, &["a", "A_b.c", "example.com/a"], &["", "/a", "a/", "a/b/c", "EX.com/a", "-a", &long]),
            (label_value, &["", "a", "A.b"], &["-a", "a b", &long]),
            (port_name, &["http", "p-1"], &["", "80", "a--b", "-a", "Http", "abcdefghijklmnop"]),
        ] {
            for name in good {
                assert_eq!(check(name), Ok(()), "{name}");
            }
            for name in bad {
                assert!(check(name).is_err(), "{name}");
            }
        }
    }
}
