//! Instance types and preferences: find, apply, conflicts, revisions, the bundle.
