//! One node: host facts → labels, device pools, health; what happens to the instances on it.
