//! Forms of names and paths as CEL, put together at compile time.

/// Whether this is no DNS label.
macro_rules! no_dns_label {
    ($text:literal) => {
        concat!("(", $text, ".size() > 63 || !", $text, ".matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))")
    };
}

/// Whether this is no DNS subdomain.
macro_rules! no_dns_subdomain {
    ($text:literal) => {
        concat!("(", $text, ".size() > 253 || !", $text, ".matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))")
    };
}

/// Whether this is no key of a label.
macro_rules! no_label_key {
    ($text:literal) => {
        concat!(
            "!",
            $text,
            ".matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')"
        )
    };
}

/// Whether this is no value of a label.
macro_rules! no_label_value {
    ($text:literal) => {
        concat!("!", $text, ".matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')")
    };
}

/// Whether this is no absolute path of a file.
macro_rules! no_file {
    ($path:literal) => {
        concat!(
            "(",
            $path,
            " == '/' || !",
            $path,
            ".startsWith('/') || ",
            $path,
            ".contains('//') || ",
            $path,
            ".contains('/./') || ",
            $path,
            ".contains('/../') || ",
            $path,
            ".endsWith('/.') || ",
            $path,
            ".endsWith('/..'))"
        )
    };
}

/// Whether this is no PCI address.
macro_rules! no_pci_address {
    ($text:literal) => {
        concat!("!", $text, ".matches('^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}[.][0-7]$')")
    };
}

/// Whether this is no MAC address.
macro_rules! no_mac_address {
    ($text:literal) => {
        concat!(
            "!",
            $text,
            ".matches('^([0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}([.][0-9A-Fa-f]{4}){2})$')"
        )
    };
}

/// Whether this is no span of time.
macro_rules! no_duration {
    ($text:literal) => {
        concat!("!", $text, ".matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')")
    };
}

pub(super) use {no_dns_label, no_dns_subdomain, no_duration, no_file, no_label_key, no_label_value, no_mac_address, no_pci_address};
