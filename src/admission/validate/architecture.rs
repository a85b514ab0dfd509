//! What guests of an architecture cannot have.

use super::spec::Subject;
use crate::admission::Cause;
use crate::api::v1::{DiskBus, VirtualMachineInstanceSpec};

/// An architecture and what its guests may have.
struct Architecture {
    name: &'static str,
    video: &'static [&'static str],
    watchdog: Option<&'static str>,
}

const ARCHITECTURES: [Architecture; 3] = [
    Architecture { name: "amd64", video: &["vga", "cirrus", "virtio", "ramfb", "bochs"], watchdog: Some("i6300esb") },
    Architecture { name: "arm64", video: &["virtio", "ramfb"], watchdog: None },
    Architecture { name: "s390x", video: &["virtio"], watchdog: Some("diag288") },
];

/// Judges the devices by the architecture, which must be known by now.
pub(super) fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(architecture) = ARCHITECTURES.iter().find(|a| a.name == s.spec.architecture) else {
        let names = ARCHITECTURES.map(|a| a.name).join(", ");
        causes.push(Cause::invalid(s.at.key("architecture"), format!("{:?} is no architecture; take one of {names}", s.spec.architecture)));
        return;
    };
    if architecture.name == "arm64" {
        arm(s, causes);
    }
    watchdog(s, architecture, causes);
    if let Some(video) = s.spec.domain.devices.video.as_ref().filter(|video| !architecture.video.contains(&video.type_.as_str())) {
        let message = format!(
            "guests on {} have no video device {:?}; take one of {}",
            architecture.name,
            video.type_,
            architecture.video.join(", ")
        );
        causes.push(Cause::not_supported(s.at.key("domain.devices.video.type"), message));
    }
}

fn watchdog(s: &Subject, architecture: &Architecture, causes: &mut Vec<Cause>) {
    let Some(watchdog) = &s.spec.domain.devices.watchdog else { return };
    let given = match (watchdog.i6300esb.is_some(), watchdog.diag288.is_some()) {
        (true, false) => Some("i6300esb"),
        (false, true) => Some("diag288"),
        _ => None,
    };
    let at = s.at.key("domain.devices.watchdog");
    match architecture.watchdog {
        None => causes.push(Cause::not_supported(at, format!("guests on {} have no watchdog; leave it out", architecture.name))),
        Some(right) if given != Some(right) => {
            causes.push(Cause::not_supported(at, format!("guests on {} have the watchdog {right}, and no other", architecture.name)));
        }
        Some(_) => {}
    }
}

fn arm(s: &Subject, causes: &mut Vec<Cause>) {
    let VirtualMachineInstanceSpec { domain, .. } = s.spec;
    if domain.firmware.as_ref().and_then(|f| f.bootloader.as_ref()).is_some_and(|b| b.bios.is_some()) {
        causes.push(Cause::not_supported(s.at.key("domain.firmware.bootloader.bios"), "guests on arm64 have no BIOS; take efi"));
    }
    if let Some(cpu) = domain.cpu.as_ref().filter(|cpu| !matches!(cpu.model.as_str(), "" | "host-passthrough")) {
        let message = format!("guests on arm64 have no CPU model {:?}, only host-passthrough", cpu.model);
        causes.push(Cause::not_supported(s.at.key("domain.cpu.model"), message));
    }
    let list = s.at.key("domain.devices.disks");
    for (i, disk) in domain.devices.disks.iter().enumerate() {
        let buses = [
            ("disk.bus", disk.disk.as_ref().map(|target| &target.bus)),
            ("cdrom.bus", disk.cdrom.as_ref().map(|target| &target.bus)),
            ("lun.bus", disk.lun.as_ref().map(|target| &target.bus)),
        ];
        for (key, bus) in buses {
            if let Some(bus) = bus.filter(|bus| !bus.is_unset() && !matches!(bus, DiskBus::Virtio | DiskBus::Scsi)) {
                causes.push(Cause::not_supported(
                    list.index(i).key(key),
                    format!("guests on arm64 have no disks on {bus}; take virtio or scsi"),
                ));
            }
        }
    }
    if domain.devices.sound.is_some() {
        causes.push(Cause::not_supported(s.at.key("domain.devices.sound"), "guests on arm64 have no sound card; leave it out"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Path;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::config::ClusterConfig;
    use serde_json::{Value, json};

    fn fields(architecture: &str, domain: Value) -> Vec<String> {
        let spec = serde_json::from_value(json!({"architecture": architecture, "domain": domain})).unwrap();
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let mut causes = Vec::new();
        judge(&Subject { at: &Path::new("s"), spec: &spec, config: &config }, &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn every_architecture_has_its_devices() {
        let watchdog = json!({"devices": {"watchdog": {"name": "w", "i6300esb": {}}}});
        let video = |kind: &str| json!({"devices": {"video": {"type": kind}}});
        for (architecture, domain, wanted) in [
            ("amd64", watchdog.clone(), &[][..]),
            ("s390x", watchdog.clone(), &["s.domain.devices.watchdog"]),
            ("arm64", watchdog, &["s.domain.devices.watchdog"]),
            ("amd64", video("bochs"), &[]),
            ("arm64", video("bochs"), &["s.domain.devices.video.type"]),
            ("s390x", video("ramfb"), &["s.domain.devices.video.type"]),
            ("arm64", json!({"firmware": {"bootloader": {"bios": {}}}}), &["s.domain.firmware.bootloader.bios"]),
            ("arm64", json!({"cpu": {"model": "host-model"}}), &["s.domain.cpu.model"]),
            ("arm64", json!({"devices": {"disks": [{"name": "a", "lun": {"bus": "sata"}}]}}), &["s.domain.devices.disks[0].lun.bus"]),
            ("arm64", json!({"devices": {"sound": {"name": "s"}}}), &["s.domain.devices.sound"]),
            ("mips", json!({}), &["s.architecture"]),
        ] {
            assert_eq!(fields(architecture, domain.clone()), wanted, "{architecture} {domain}");
        }
    }
}
