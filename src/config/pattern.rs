//! Patterns of machine types.

/// Whether a name matches a pattern of `*` (anything but a slash), `?`, `[a-z]` and `\`. What is no pattern matches
/// nothing.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    glob(pattern.as_bytes(), name.as_bytes())
}

fn glob(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => {
            let reach = name.iter().position(|b| *b == b'/').unwrap_or(name.len());
            (0..=reach).any(|taken| name.get(taken..).is_some_and(|name| glob(rest, name)))
        }
        Some((first, rest)) => {
            let Some((byte, name)) = name.split_first() else { return false };
            match first {
                b'?' => *byte != b'/' && glob(rest, name),
                b'[' => class(rest, *byte).is_some_and(|rest| glob(rest, name)),
                b'\\' => rest.split_first().is_some_and(|(literal, rest)| literal == byte && glob(rest, name)),
                literal => literal == byte && glob(rest, name),
            }
        }
    }
}

/// What follows a class that holds the byte; `None` when it does not hold it, or never ends.
fn class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (negated, mut rest) = match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let mut holds = false;
    loop {
        let (low, after) = literal(rest)?;
        let (high, after) = match after.strip_prefix(b"-") {
            Some(range) => literal(range)?,
            None => (low, after),
        };
        holds |= (low..=high).contains(&byte);
        if let Some(after) = after.strip_prefix(b"]") {
            return (holds != negated).then_some(after);
        }
        rest = after;
    }
}

fn literal(pattern: &[u8]) -> Option<(u8, &[u8])> {
    match pattern.split_first()? {
        (b'\\', rest) => rest.split_first().map(|(byte, rest)| (*byte, rest)),
        (byte, rest) => Some((*byte, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, matched) in [
            ("q35*", "q35", true),
            ("*q35*", "pc-q35-9", true),
            ("q?5", "q35", true),
            ("q[2-4]5", "q35", true),
            ("q[^2-4]5", "q35", false),
            ("q\\*", "q*", true),
            ("q[3", "q3", false),
            ("a*", "a/b", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, name), matched, "{pattern} {name}");
        }
    }
}
