//! The KubeVirt CR as an effective configuration: defaults, feature gates and their states.
