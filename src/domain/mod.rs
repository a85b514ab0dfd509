//! A VirtualMachineInstance and facts about its host as a libvirt domain.
