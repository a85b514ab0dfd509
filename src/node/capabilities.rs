//! What libvirt and QEMU say about the host, as libvirt writes it.

use roxmltree::{Document, Node};
use serde::Serialize;

use crate::domain::facts::Architecture;

/// The documents of libvirt.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// What a domain can have (`virsh domcapabilities`).
    pub domain: String,
    /// The CPU that every guest can have, with its features (`virsh hypervisor-cpu-baseline --features`).
    pub features: Option<String>,
    /// The host (`virsh capabilities`).
    pub host: String,
    /// The other architectures whose guests can be emulated.
    pub foreign: Vec<Architecture>,
}

/// What a host can do for guests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Capabilities {
    /// The CPU models that guests can have.
    pub usable_models: Vec<String>,
    /// The CPU models that are known; a guest with such a model may come from elsewhere.
    pub known_models: Vec<String>,
    /// The host's own CPU, if guests can have it.
    pub host_model: Option<HostModel>,
    /// The CPU features that guests can have.
    pub features: Vec<String>,
    /// The machine types.
    pub machines: Vec<String>,
    /// The time stamp counter.
    pub counter: Option<Counter>,
    /// AMD SEV.
    pub sev: bool,
    /// AMD SEV-ES.
    pub sev_es: bool,
    /// AMD SEV-SNP.
    pub sev_snp: bool,
    /// Intel TDX.
    pub tdx: bool,
    /// IBM Secure Execution.
    pub secure_execution: bool,
    /// The other architectures whose guests can be emulated.
    pub foreign: Vec<Architecture>,
}

/// The host's own CPU, as libvirt gives it to guests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostModel {
    /// Its model.
    pub name: String,
    /// Its maker.
    pub vendor: String,
    /// The features beyond the model.
    pub required_features: Vec<String>,
}

/// A time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Its frequency in hertz.
    pub frequency: u64,
    /// Whether guests can be shown another frequency.
    pub scalable: bool,
}

/// Why the host is not known.
#[derive(Debug, thiserror::Error)]
pub enum CapabilitiesError {
    /// No XML.
    #[error("What libvirt says about {what} is no XML")]
    Xml {
        /// Which document.
        what: &'static str,
        /// What is wrong.
        source: roxmltree::Error,
    },
    /// An own CPU without a model.
    #[error("libvirt names no model of the host's CPU; is QEMU installed for this architecture?")]
    NoHostModel,
}

/// Reads the documents of a host of that architecture.
pub fn read(documents: &Documents, architecture: Architecture) -> Result<Capabilities, CapabilitiesError> {
    let mut found = Capabilities { foreign: documents.foreign.clone(), ..Capabilities::default() };
    let parse = |what, text| Document::parse(text).map_err(|source| CapabilitiesError::Xml { what, source });
    let domain = parse("domains", &documents.domain)?;
    domain_capabilities(domain.root_element(), architecture, &mut found)?;
    if let Some(text) = documents.features.as_ref().filter(|_| architecture != Architecture::Arm64) {
        let features = parse("CPU features", text)?;
        let taken = |policy: Option<&str>| match policy {
            // on IBM Z the policy is left away
            None | Some("") => architecture == Architecture::S390x,
            Some(policy) => policy == "require",
        };
        let usable = children(features.root_element(), "feature").filter(|f| taken(f.attribute("policy")));
        found.features = usable.filter_map(|f| f.attribute("name").map(str::to_owned)).collect();
    }
    let host = parse("the host", &documents.host)?;
    host_capabilities(host.root_element(), &mut found);
    Ok(found)
}

/// The host's own CPU out of what a domain can have, as libvirt takes CPUs; `None` if domains cannot have it.
pub fn host_cpu(domain: &str) -> Option<String> {
    let document = Document::parse(domain).ok()?;
    let modes = at(document.root_element(), &["cpu"]).into_iter().flat_map(|cpu| children(cpu, "mode"));
    let mode = modes.filter(|mode| mode.attribute("supported") == Some("yes")).find(|mode| mode.attribute("name") == Some("host-model"))?;
    let parts = mode.children().filter(Node::is_element).filter_map(|part| domain.get(part.range()));
    Some(format!("<cpu>{}</cpu>", parts.collect::<String>()))
}

fn children<'a, 'input>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// The node at the end of a path of names.
fn at<'a, 'input>(node: Node<'a, 'input>, path: &[&'static str]) -> Option<Node<'a, 'input>> {
    path.iter().try_fold(node, |node, name| children(node, name).next())
}

fn text(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_owned()
}

fn domain_capabilities(root: Node<'_, '_>, architecture: Architecture, found: &mut Capabilities) -> Result<(), CapabilitiesError> {
    for mode in at(root, &["cpu"]).into_iter().flat_map(|cpu| children(cpu, "mode")) {
        let own = mode.attribute("name") == Some("host-model");
        if own && (architecture == Architecture::Arm64 || mode.attribute("supported") == Some("no")) {
            continue;
        }
        if own {
            found.host_model = Some(host_model(mode, architecture)?);
        }
        for model in children(mode, "model") {
            let (name, Some(usable)) = (text(model), model.attribute("usable").filter(|u| !u.is_empty())) else { continue };
            if name.is_empty() {
                continue;
            }
            if usable != "no" {
                found.usable_models.push(name.clone());
            }
            found.known_models.push(name);
        }
    }
    let supported = |name: &'static str| at(root, &["features", name]).filter(|f| f.attribute("supported") == Some("yes"));
    found.tdx = supported("tdx").is_some();
    found.secure_execution = supported("s390-pv").is_some();
    if let Some(sev) = supported("sev") {
        found.sev = true;
        found.sev_es = at(sev, &["maxESGuests"]).and_then(|n| text(n).parse::<u64>().ok()).is_some_and(|most| most > 0);
        let kinds = supported("launchSecurity").into_iter().flat_map(|l| children(l, "enum")).flat_map(|e| children(e, "value"));
        found.sev_snp = found.sev_es && kinds.map(text).any(|kind| kind == "sev-snp");
    }
    Ok(())
}

fn host_model(mode: Node<'_, '_>, architecture: Architecture) -> Result<HostModel, CapabilitiesError> {
    let name = children(mode, "model").next().map(text).filter(|name| !name.is_empty()).ok_or(CapabilitiesError::NoHostModel)?;
    let vendor = at(mode, &["vendor"]).map(text).unwrap_or_default();
    // there is only one maker of such machines, so libvirt does not say it
    let vendor = if vendor.is_empty() && architecture == Architecture::S390x { "IBM".to_owned() } else { vendor };
    let required = children(mode, "feature").filter(|f| f.attribute("policy") == Some("require"));
    let required_features = required.filter_map(|f| f.attribute("name").map(str::to_owned)).collect();
    Ok(HostModel { name, vendor, required_features })
}

fn host_capabilities(root: Node<'_, '_>, found: &mut Capabilities) {
    let machines = children(root, "guest").filter_map(|guest| at(guest, &["arch"])).flat_map(|arch| children(arch, "machine"));
    for name in machines.map(text).filter(|name| !name.is_empty()) {
        if !found.machines.contains(&name) {
            found.machines.push(name);
        }
    }
    let counter = at(root, &["host", "cpu", "counter"]).filter(|c| c.attribute("name") == Some("tsc"));
    found.counter = counter.and_then(|counter| {
        let frequency = counter.attribute("frequency")?.parse().ok()?;
        Some(Counter { frequency, scalable: counter.attribute("scaling") == Some("yes") })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: &str = "<domainCapabilities>
      <cpu>
        <mode name='host-passthrough' supported='yes'/>
        <mode name='host-model' supported='yes'>
          <model fallback='forbid'>Skylake-Client</model><vendor>Intel</vendor>
          <feature policy='require' name='ss'/><feature policy='disable' name='mpx'/>
        </mode>
        <mode name='custom' supported='yes'>
          <model usable='yes' vendor='Intel'>Penryn</model><model usable='no'>EPYC</model><model usable='unknown'>Odd</model><model>Nameless</model>
        </mode>
      </cpu>
      <features>
        <sev supported='yes'><maxGuests>9</maxGuests><maxESGuests>5</maxESGuests></sev>
        <launchSecurity supported='yes'><enum name='sectype'><value>sev</value><value>sev-snp</value></enum></launchSecurity>
        <tdx supported='no'/>
      </features></domainCapabilities>";
    const HOST: &str = "<capabilities><host><cpu><counter name='tsc' frequency='2099996000' scaling='no'/></cpu></host>
      <guest><arch name='x86_64'><machine maxCpus='288'>pc-q35-10.0</machine><machine canonical='pc-q35-10.0'>q35</machine>
        <domain type='kvm'><machine>inner</machine></domain></arch></guest>
      <guest><arch name='i686'><machine>q35</machine></arch></guest></capabilities>";

    fn documents() -> Documents {
        let features =
            "<cpu><model>x</model><feature policy='require' name='vmx'/><feature policy='disable' name='hle'/><feature name='bare'/></cpu>";
        Documents {
            domain: DOMAIN.to_owned(),
            features: Some(features.to_owned()),
            host: HOST.to_owned(),
            foreign: vec![Architecture::Arm64],
        }
    }

    #[test]
    fn a_host_is_read_from_what_libvirt_says() {
        let found = read(&documents(), Architecture::Amd64).unwrap();
        assert_eq!(
            (found.usable_models, found.known_models),
            (vec!["Penryn".into(), "Odd".into()], vec!["Penryn".into(), "EPYC".into(), "Odd".into()])
        );
        let own = HostModel { name: "Skylake-Client".into(), vendor: "Intel".into(), required_features: vec!["ss".into()] };
        assert_eq!(
            (found.host_model, found.features, found.machines),
            (Some(own), vec!["vmx".into()], vec!["pc-q35-10.0".into(), "q35".into()])
        );
        assert_eq!(found.counter, Some(Counter { frequency: 2_099_996_000, scalable: false }));
        assert_eq!((found.sev, found.sev_es, found.sev_snp, found.tdx, found.secure_execution), (true, true, true, false, false));
    }

    #[test]
    fn the_hosts_cpu_is_taken_out_whole() {
        let cpu = "<cpu><model fallback='forbid'>Skylake-Client</model><vendor>Intel</vendor><feature policy='require' name='ss'/><feature policy='disable' name='mpx'/></cpu>";
        assert_eq!(host_cpu(DOMAIN).as_deref(), Some(cpu));
        assert_eq!(host_cpu(&DOMAIN.replace("host-model' supported='yes'", "host-model' supported='no'")), None);
        assert_eq!(host_cpu("<"), None);
    }

    #[test]
    fn architectures_differ() {
        let arm = read(&documents(), Architecture::Arm64).unwrap();
        assert_eq!((arm.host_model, arm.features), (None, Vec::<String>::new()));
        let z = read(&Documents { domain: DOMAIN.replace("<vendor>Intel</vendor>", ""), ..documents() }, Architecture::S390x).unwrap();
        assert_eq!((z.host_model.unwrap().vendor.as_str(), z.features), ("IBM", vec!["vmx".to_owned(), "bare".to_owned()]));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let broken = Documents { host: "<".to_owned(), ..documents() };
        assert!(read(&broken, Architecture::Amd64).unwrap_err().to_string().contains("the host"));
        let nameless = Documents { domain: DOMAIN.replace("Skylake-Client", " "), ..documents() };
        assert!(matches!(read(&nameless, Architecture::Amd64), Err(CapabilitiesError::NoHostModel)));
        let weak = Documents { domain: DOMAIN.replace("<maxESGuests>5</maxESGuests>", ""), ..documents() };
        let weak = read(&weak, Architecture::Amd64).unwrap();
        assert_eq!((weak.sev, weak.sev_es, weak.sev_snp), (true, false, false));
    }
}
