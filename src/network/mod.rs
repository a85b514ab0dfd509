//! What the network of a machine shall look like.
