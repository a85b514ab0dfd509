//! What KVM can do for a guest that believes to be on Hyper-V, as a table.

/// One thing that KVM can do, and how it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    /// The end of the label.
    pub name: &'static str,
    /// The extension of KVM; it decides where there is one.
    pub extension: Option<u32>,
    /// The model-specific register that KVM offers for it.
    pub register: Option<u32>,
}

const fn ability(name: &'static str, extension: Option<u32>, register: Option<u32>) -> Ability {
    Ability { name, extension, register }
}

/// All that can be labelled.
#[rustfmt::skip]
pub const ABILITIES: [Ability; 12] = [
    ability("base",            Some(44),  None),
    ability("time",            Some(96),  None),
    ability("vpindex",         Some(149), Some(0x4000_0002)),
    ability("tlbflush",        Some(155), None),
    ability("ipi",             Some(161), None),
    ability("synic",           Some(123), Some(0x4000_0080)),
    ability("synic2",          Some(148), Some(0x4000_0080)),
    ability("frequencies",     None,      Some(0x4000_0022)),
    ability("reset",           None,      Some(0x4000_0003)),
    ability("runtime",         None,      Some(0x4000_0010)),
    ability("synictimer",      None,      Some(0x4000_00b0)),
    ability("reenlightenment", None,      Some(0x4000_0106)),
];

/// The abilities that there are, by what KVM says of its extensions and registers.
pub fn present(extension: impl Fn(u32) -> bool, registers: &[u32]) -> Vec<String> {
    let there = |ability: &&Ability| match (ability.extension, ability.register) {
        (Some(number), _) => extension(number),
        (None, Some(register)) => registers.contains(&register),
        (None, None) => false,
    };
    ABILITIES.iter().filter(there).map(|ability| ability.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_decides_before_a_register() {
        assert_eq!(present(|number| number == 44, &[0x4000_0080, 0x4000_0003]), ["base", "reset"]);
        assert_eq!(present(|number| number == 123, &[]), ["synic"]);
        assert!(present(|_| false, &[]).is_empty());
    }
}
