//! A VirtualMachineInstance and the configuration as its launcher pod.
