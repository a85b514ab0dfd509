//! The hook sidecars of the pod: found by their sockets, and called by their wishes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kubevirt_rs::api::names::HOOK_SIDECARS_ANNOTATION;
use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::guest::hooks::{Introduction, Point, Version, called};
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::storage::Hooked;
use tokio::time::{Instant, sleep};

use super::fault;
use crate::wire::hooks::{self, CallError, CloudInit};

/// How often it is looked for sockets.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The sidecars of a pod.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    introductions: Vec<Introduction>,
    /// The container and the socket of each.
    doors: Vec<(String, PathBuf)>,
}

/// A sidecar that is to be called.
struct Called<'a> {
    container: &'a str,
    socket: &'a Path,
    version: Version,
}

/// A fault of hook sidecars.
pub(super) fn failed(message: impl std::fmt::Display) -> Fault {
    let field = Some(format!("metadata.annotations[{HOOK_SIDECARS_ANNOTATION}]"));
    Fault { field, ..fault(FaultReason::HookFailed, message) }
}

impl Called<'_> {
    fn failed(&self, point: Point, why: impl std::fmt::Display) -> Fault {
        failed(format!("The hook sidecar in the container {} has failed at {}: {why}", self.container, point.as_str()))
    }
}

impl Hooks {
    /// Waits until as many sidecars as there must be have said who they are. Each has a folder of its own.
    pub(super) async fn collect(folder: &Path, wanted: u32, until: Instant) -> Result<Self, Fault> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut found = BTreeMap::new();
        let mut troubles = BTreeMap::new();
        while found.len() < wanted {
            for (container, socket) in sockets(folder) {
                if found.contains_key(&container) {
                    continue;
                }
                match hooks::info(&socket).await {
                    Ok(introduction) => {
                        introduction.version().map_err(|e| failed(format!("The hook sidecar in the container {container}: {e}")))?;
                        tracing::info!(container, name = introduction.name, versions = ?introduction.versions, "A hook sidecar is there");
                        found.insert(container, (introduction, socket));
                    }
                    Err(CallError::Refused { message, .. }) => {
                        return Err(failed(format!("The hook sidecar in the container {container} does not say who it is: {message}")));
                    }
                    // it may not listen yet
                    Err(error) => drop(troubles.insert(container, error.to_string())),
                }
            }
            if found.len() < wanted {
                if Instant::now() >= until {
                    return Err(missing(folder, wanted, &found.into_keys().collect::<Vec<_>>(), &troubles));
                }
                sleep(LOOK_EVERY).await;
            }
        }
        let (doors, introductions) =
            found.into_iter().map(|(container, (introduction, socket))| ((container, socket), introduction)).unzip();
        Ok(Self { introductions, doors })
    }

    fn called(&self, point: Point) -> impl Iterator<Item = Called<'_>> {
        called(&self.introductions, point).into_iter().filter_map(|i| {
            let (container, socket) = self.doors.get(i)?;
            Some(Called { container, socket, version: self.introductions.get(i)?.version().ok()? })
        })
    }

    /// The containers of those who have changed the domain, for messages.
    pub(super) fn changers(&self) -> Vec<&str> {
        self.called(Point::OnDefineDomain).map(|one| one.container).collect()
    }

    /// Lets every sidecar that wants to change the domain.
    pub(super) async fn on_define_domain(&self, mut xml: String, vmi: &VirtualMachineInstance) -> Result<String, Fault> {
        const POINT: Point = Point::OnDefineDomain;
        for one in self.called(POINT) {
            let answer = hooks::on_define_domain(one.socket, one.version, xml.into_bytes(), json(vmi)?).await;
            xml = String::from_utf8(answer.map_err(|e| one.failed(POINT, e))?)
                .map_err(|_| one.failed(POINT, "its answer is no UTF-8, as the text of a domain must be"))?;
            if xml.trim().is_empty() {
                return Err(one.failed(POINT, "its answer is empty; it must be the whole domain, changed or not"));
            }
        }
        Ok(xml)
    }

    /// Lets every sidecar that wants to change what cloud-init will find; whether one did.
    pub(super) async fn pre_cloud_init_iso(&self, seed: &mut Hooked, vmi: &VirtualMachineInstance) -> Result<bool, Fault> {
        const POINT: Point = Point::PreCloudInitIso;
        let mut any = false;
        for one in self.called(POINT) {
            let told =
                CloudInit { no_cloud_source: seed.no_cloud_source().to_string().into_bytes(), data: seed.data().to_string().into_bytes() };
            let answer = hooks::pre_cloud_init_iso(one.socket, one.version, told, json(vmi)?).await.map_err(|e| one.failed(POINT, e))?;
            seed.take(&answer.data, &answer.no_cloud_source).map_err(|e| one.failed(POINT, e))?;
            any = true;
        }
        Ok(any)
    }

    /// Tells every sidecar that wants to know that the guest is gone.
    pub(super) async fn shutdown(&self) {
        for one in self.called(Point::Shutdown) {
            if let Err(error) = hooks::shutdown(one.socket).await {
                tracing::warn!(%error, container = one.container, "A hook sidecar was not told of the end");
            }
        }
    }
}

fn json(vmi: &VirtualMachineInstance) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(vmi).map_err(failed)
}

/// The first socket in each folder, with the folder's name: that of the container.
fn sockets(folder: &Path) -> BTreeMap<String, PathBuf> {
    let listed = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let mut found = BTreeMap::new();
    for container in listed(folder) {
        let mut sockets: Vec<_> =
            listed(&container.path()).filter(|e| e.file_type().is_ok_and(|t| t.is_socket())).map(|e| e.path()).collect();
        sockets.sort();
        if let (Ok(name), Some(socket)) = (container.file_name().into_string(), sockets.into_iter().next()) {
            found.insert(name, socket);
        }
    }
    found
}

/// Who has not come, and what is known of each.
fn missing(folder: &Path, wanted: usize, found: &[String], troubles: &BTreeMap<String, String>) -> Fault {
    let names = (0..wanted).map(|i| format!("hook-sidecar-{i}")).filter(|name| !found.contains(name));
    let each = names.map(|name| match troubles.get(&name) {
        Some(trouble) => format!("{name} ({trouble})"),
        None => format!("{name} (no socket in {})", folder.join(&name).display()),
    });
    let each: Vec<_> = each.collect();
    failed(format!(
        "{} of {wanted} hook sidecars have not come: {}; see the logs of these containers",
        wanted - found.len(),
        each.join(", ")
    ))
}
