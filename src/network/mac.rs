//! MAC addresses.

use std::fmt;
use std::str::FromStr;

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub [u8; 6]);

/// A text that is no MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no MAC address; write six bytes, such as 02:00:00:00:00:01")]
pub struct MacError(String);

impl FromStr for Address {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let fault = || MacError(text.to_owned());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut parts = text.split(separator);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit())).ok_or_else(fault)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| fault())?;
        }
        if parts.next().is_some() { Err(fault()) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        for text in ["02:ab:00:00:00:01", "02-AB-00-00-00-01"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), "02:ab:00:00:00:01");
        }
        for text in ["", "02:ab:00:00:00", "02:ab:00:00:00:01:02", "2:ab:00:00:00:01", "02:ab:00:00:00:+1", "zz:ab:00:00:00:01"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
