//! The schemas of the Kubernetes types that are embedded in ours: tables of fields, by where they are used.

mod meta;
mod placement;
mod pods;
mod storage;

pub use meta::object_meta;

use super::{ListKind, Node, Schema, Shape};

/// The schema of the field that `project` shows. Lists of Kubernetes' own types are taken as one value.
pub(super) fn of<T, F: Schema>(_project: impl FnOnce(&T) -> &F) -> Node {
    let node = F::schema();
    match node.shape {
        Shape::List { .. } => node.list(ListKind::Atomic),
        _ => node,
    }
}
