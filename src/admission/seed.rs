//! Randomness as an argument: what is drawn follows from the seed, so that deciding stays a pure function.

use std::fmt::Write as _;

/// Random bits for one decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed(pub u128);

/// The letters and digits of generated names: none that form words or are mistaken for another.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Seed {
    /// A random UUID (version 4). Different numbers give independent ones.
    pub fn uuid(self, number: u64) -> String {
        let bits = self.draw(number);
        let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        let mut out = String::with_capacity(36);
        for (i, digit) in hex.chars().enumerate() {
            if matches!(i, 8 | 12 | 16 | 20) {
                out.push('-');
            }
            out.push(digit);
        }
        out
    }

    /// A random ending for a generated name.
    pub fn suffix(self, number: u64, length: usize) -> String {
        let mut bits = self.draw(number);
        let base = NAME_ALPHABET.len() as u128;
        let mut out = String::with_capacity(length);
        for _ in 0..length {
            let letter = NAME_ALPHABET.get((bits % base) as usize).copied().unwrap_or(b'x');
            let _ = out.write_char(char::from(letter));
            bits /= base;
        }
        out
    }

    fn draw(self, number: u64) -> u128 {
        let low = mix(self.0 as u64 ^ mix(number));
        let high = mix((self.0 >> 64) as u64 ^ low);
        (u128::from(high) << 64) | u128::from(low)
    }
}

/// The finalizer of splitmix64: every input bit reaches every output bit.
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_form_and_hangs_on_seed_and_number() {
        let seed = Seed(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let uuid = seed.uuid(0);
        assert_eq!((uuid.len(), uuid.as_bytes()[14], uuid.matches('-').count()), (36, b'4', 4), "{uuid}");
        assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        assert_eq!(uuid, seed.uuid(0));
        assert_ne!(uuid, seed.uuid(1));
        assert_ne!(uuid, Seed(1).uuid(0));
    }

    #[test]
    fn an_ending_has_its_length() {
        assert_eq!(Seed(7).suffix(0, 5).len(), 5);
        assert_ne!(Seed(7).suffix(0, 5), Seed(8).suffix(0, 5));
    }
}
