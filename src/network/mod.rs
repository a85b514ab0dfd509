//! What a pod's network shall look like: links, addresses, rules, DHCP answers.

pub mod dhcp;
pub mod mac;
pub mod resolver;
