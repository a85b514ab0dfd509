//! What the cluster's configuration says about its guests.

use kubevirt_api::v1::{DomainAttachmentType, VirtualMachineInstance};

use super::{Facts, Hypervisor, Smbios};
use crate::config::{ClusterConfig, Gate, KVM};
use crate::domain::{wants_free_page_reporting, wants_serial_console_log};

impl Facts {
    /// These facts with those that the cluster's configuration, and what the VMI says to it, decides.
    #[must_use]
    pub fn of_cluster(mut self, config: &ClusterConfig, vmi: &VirtualMachineInstance) -> Self {
        let settings = config.spec();
        self.hypervisor = if config.hypervisor() == KVM { Hypervisor::Kvm } else { Hypervisor::HypervDirect };
        self.emulation_allowed |= config.allow_emulation();
        if !config.enabled(Gate::CrossArchitectureVirtualization) {
            self.foreign_emulators.clear();
        }
        self.smbios = settings.smbios.as_ref().map(|maker| Smbios {
            manufacturer: maker.manufacturer.clone(),
            family: maker.family.clone(),
            product: maker.product.clone(),
            sku: maker.sku.clone(),
            version: maker.version.clone(),
        });
        self.balloon_period = settings.mem_balloon_stats_period.unwrap_or_default();
        self.free_page_reporting = !config.free_page_reporting_disabled() && wants_free_page_reporting(vmi);
        self.serial_console_log = wants_serial_console_log(vmi, !config.serial_console_log_disabled());
        self.bochs_for_efi = !config.vga_for_efi();
        self.firmware.auto_selection = config.enabled(Gate::FirmwareAutoSelection);
        self.pci_numa_aware = config.enabled(Gate::PciNumaAwareTopology);
        let plugins = config.network_bindings().into_iter().flatten();
        let tapping = plugins
            .filter(|(_, plugin)| matches!(plugin.domain_attachment_type, DomainAttachmentType::Tap | DomainAttachmentType::ManagedTap));
        self.networks.tap_plugins = tapping.map(|(name, _)| name.clone()).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use kubevirt_api::v1::KubeVirtConfiguration;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::testing::vmi;

    fn facts(settings: Value, domain: Value) -> Facts {
        let settings: KubeVirtConfiguration = serde_json::from_value(settings).unwrap();
        Facts::default().of_cluster(&ClusterConfig::new(&settings), &vmi(domain))
    }

    #[test]
    fn a_cluster_without_settings_has_its_defaults() {
        let facts = facts(json!({}), json!({}));
        assert_eq!((facts.hypervisor, facts.emulation_allowed, facts.balloon_period), (Hypervisor::Kvm, false, 10));
        assert!(facts.free_page_reporting && facts.serial_console_log && facts.bochs_for_efi);
        assert!(!facts.firmware.auto_selection && !facts.pci_numa_aware);
        assert_eq!(facts.smbios.map(|maker| (maker.manufacturer, maker.product)), Some(("KubeVirt".to_owned(), "None".to_owned())));
    }

    #[test]
    fn settings_and_the_vmi_decide_together() {
        let settings = json!({
            "developerConfiguration": { "useEmulation": true, "featureGates": ["PCINUMAAwareTopology", "FirmwareAutoSelection"] },
            "virtualMachineOptions": { "disableFreePageReporting": {}, "disableSerialConsoleLog": {} },
            "memBalloonStatsPeriod": 0,
            "network": { "binding": { "a": { "domainAttachmentType": "tap" }, "b": { "domainAttachmentType": "managedTap" }, "c": {} } },
        });
        let facts = facts(settings, json!({ "devices": { "logSerialConsole": true } }));
        assert!(facts.emulation_allowed && facts.pci_numa_aware && facts.firmware.auto_selection && facts.serial_console_log);
        assert!(!facts.free_page_reporting);
        assert_eq!(facts.balloon_period, 0);
        assert_eq!(facts.networks.tap_plugins.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
