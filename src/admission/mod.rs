//! What may enter the cluster, and what it looks like then: defaults, then judgement.
