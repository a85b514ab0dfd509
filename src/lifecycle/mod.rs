//! The life of a machine: what was observed, and the actions that follow from it.
