//! What a pass is about.

use std::fmt;

use crate::cluster::Key;

/// An object whose controller shall look at it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Item {
    /// A VirtualMachine.
    Machine(Key),
    /// A VirtualMachineInstance.
    Instance(Key),
    /// A VirtualMachineInstanceReplicaSet.
    Set(Key),
    /// A VirtualMachinePool.
    Pool(Key),
    /// A node.
    Node(Box<str>),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(key) => write!(f, "VirtualMachine {key}"),
            Self::Instance(key) => write!(f, "VirtualMachineInstance {key}"),
            Self::Set(key) => write!(f, "VirtualMachineInstanceReplicaSet {key}"),
            Self::Pool(key) => write!(f, "VirtualMachinePool {key}"),
            Self::Node(name) => write!(f, "Node {name}"),
        }
    }
}
