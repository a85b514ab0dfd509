//! Where a device sits in the guest, or on the host.

use std::fmt;
use std::str::FromStr;

use super::super::xml::{Element, Scalar, Xml};

/// An address of a PCI device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// The domain.
    pub domain: u16,
    /// The bus.
    pub bus: u8,
    /// The slot.
    pub slot: u8,
    /// The function.
    pub function: u8,
}

/// A text that is no PCI address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write DOMAIN:BUS:SLOT.FUNCTION in hexadecimal digits, such as 0000:01:00.0")]
pub struct NoPciAddress;

impl FromStr for PciAddress {
    type Err = NoPciAddress;

    fn from_str(text: &str) -> Result<Self, NoPciAddress> {
        fn digits(text: &str, width: usize) -> Result<u16, NoPciAddress> {
            if text.len() != width || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(NoPciAddress);
            }
            u16::from_str_radix(text, 16).map_err(|_| NoPciAddress)
        }
        fn byte(text: &str, width: usize) -> Result<u8, NoPciAddress> {
            u8::try_from(digits(text, width)?).map_err(|_| NoPciAddress)
        }
        let (domain, rest) = text.split_once(':').ok_or(NoPciAddress)?;
        let (bus, rest) = rest.split_once(':').ok_or(NoPciAddress)?;
        let (slot, function) = rest.split_once('.').ok_or(NoPciAddress)?;
        let address = Self { domain: digits(domain, 4)?, bus: byte(bus, 2)?, slot: byte(slot, 2)?, function: byte(function, 1)? };
        if address.function > 7 { Err(NoPciAddress) } else { Ok(address) }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.slot, self.function)
    }
}

impl PciAddress {
    /// Writes the four parts as attributes.
    pub(super) fn attributes(self, x: &mut Xml) {
        x.attribute("domain", &Hex(self.domain.into(), 4));
        x.attribute("bus", &Hex(self.bus.into(), 2));
        x.attribute("slot", &Hex(self.slot.into(), 2));
        x.attribute("function", &Hex(self.function.into(), 1));
    }
}

/// A hexadecimal number of at least so many digits.
struct Hex(u32, usize);

impl Scalar for Hex {
    fn append(&self, to: &mut String) -> bool {
        use fmt::Write as _;
        write!(to, "{:#0width$x}", self.0, width = self.1 + 2).is_ok()
    }
}

/// Where a device sits in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// On a PCI bus.
    Pci(PciAddress),
    /// On the first SCSI controller.
    Drive {
        /// Its place.
        unit: u32,
    },
}

impl Element for Address {
    fn write(&self, x: &mut Xml) {
        match self {
            Self::Pci(address) => x.element("address", |x| {
                x.attribute("type", "pci");
                address.attributes(x);
            }),
            Self::Drive { unit } => {
                x.leaf("address", &[("type", &"drive"), ("controller", &0u32), ("bus", &0u32), ("unit", unit)]);
            }
        }
    }
}

impl Element for PciAddress {
    fn write(&self, x: &mut Xml) {
        Address::Pci(*self).write(x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_read_and_written() {
        for text in ["0000:00:00.0", "0000:81:01.7", "ffff:ff:ff.7"] {
            assert_eq!(text.parse::<PciAddress>().map(|a| a.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("0000:0A:1f.2".parse::<PciAddress>().map(|a| a.to_string()), Ok("0000:0a:1f.2".to_owned()));
        for text in
            ["", "0000:81:01", "0000:81:01.8", "000:81:01.0", "0000:81:1.0", "0000:81:01.00", "0000-81-01.0", "+000:81:01.0", "0000:é:01.0"]
        {
            assert_eq!(text.parse::<PciAddress>(), Err(NoPciAddress), "{text}");
        }
    }
}
