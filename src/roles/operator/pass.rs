//! One pass: look, judge the settings, decide, act, tell.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kubevirt_rs::api::names::KUBEVIRT_FINALIZER;
use kubevirt_rs::api::v1::{GenerationStatus, KubeVirt};
use kubevirt_rs::install::certificates::Lifetimes;
use kubevirt_rs::install::status::{self, Outcome, Speaker};
use kubevirt_rs::install::{Id, Installation, Kind, Observed, Operator, plan};

use tokio::sync::Mutex;

use super::apply::Hand;
use super::{observe, report};
use crate::cluster::{Cluster, Error};

/// What the operator is, and what it remembers of its own writes.
pub(super) struct Installer {
    pub(super) cluster: Cluster,
    pub(super) namespace: String,
    pub(super) image: String,
    /// The generations of what was written; told by the status, too, for the next leader.
    pub(super) generations: BTreeMap<Id, i64>,
}

/// When to make the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// When something changes, and after a while in any case.
    Quiet,
    /// At once: something was done, and more may follow.
    Now,
    /// Soon: it did not go as it should, or the cluster is not there yet.
    Retry,
}

/// How often everything is looked at although nothing was heard of: certificates run out in silence.
pub(super) const QUIET: Duration = Duration::from_secs(60);

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Installer {
    /// Makes a pass for the installation of that object; the others are told that there is one already.
    pub(super) async fn pass(&mut self, mut all: Vec<KubeVirt>) -> Next {
        all.sort_by_key(|kubevirt| (!is_ours(kubevirt, &self.namespace), kubevirt.creation_timestamp(), kubevirt.name_any()));
        let mut all = all.into_iter();
        let Some(first) = all.next() else { return Next::Quiet };
        for other in all {
            const WHY: &str = "a cluster has one installation, and there is another; delete this object or that";
            self.tell(&other, &Outcome::NotOurs(WHY)).await;
        }
        match self.install(&first).await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!(kind = "KubeVirt", namespace = self.namespace, name = first.name_any(), "look at the installation: {error}");
                Next::Retry
            }
        }
    }

    async fn install(&mut self, kubevirt: &KubeVirt) -> Result<Next, Error> {
        let seen = observe::look(&self.cluster.client, &self.namespace).await?;
        let operator = Operator { image: &self.image, namespace: &self.namespace, version: VERSION };
        let is_going = kubevirt.metadata.deletion_timestamp.is_some();
        let installation = match Installation::new(kubevirt, &operator, seen.cluster) {
            Ok(installation) => installation,
            Err(error @ kubevirt_rs::install::SettingsError::Namespace { .. }) => {
                self.tell(kubevirt, &Outcome::NotOurs(&error.to_string())).await;
                return Ok(Next::Quiet);
            }
            Err(error) if !is_going => {
                tracing::warn!(kind = "KubeVirt", namespace = self.namespace, name = kubevirt.name_any(), "not installed: {error}");
                self.tell(kubevirt, &Outcome::Refused(&error.to_string())).await;
                return Ok(Next::Quiet);
            }
            // Whatever its settings, it may go.
            Err(_) => {
                let bare = KubeVirt { metadata: kubevirt.metadata.clone(), ..KubeVirt::default() };
                match Installation::new(&bare, &operator, seen.cluster) {
                    Ok(installation) => installation,
                    Err(error) => return Err(Error::Refused(error.to_string())),
                }
            }
        };
        if self.generations.is_empty() {
            self.generations = remembered(kubevirt);
        }
        let observed = Observed {
            kubevirt,
            live: &seen.live,
            certificates: &seen.certificates,
            generations: &self.generations,
            nodes: &seen.nodes,
            now: Timestamp::now(),
        };
        let plan = plan(&observed, &installation);
        let hand = Hand {
            cluster: &self.cluster,
            kubevirt,
            namespace: &self.namespace,
            authority: seen.authority.as_ref(),
            lifetimes: Lifetimes::new(kubevirt.spec.certificate_rotate_strategy.self_signed.as_ref()),
            reading: Mutex::default(),
        };
        // A status that others wait for is told before the object goes.
        let is_last = plan.actions.contains(&kubevirt_rs::install::Action::Release);
        let told = |failure| Outcome::Done { installation: &installation, plan: &plan, live: &seen.live, failure, generations: &[] };
        if is_last {
            self.tell(kubevirt, &told(None)).await;
        }
        let done = hand.act(&plan.actions, &mut self.generations).await;
        let failure = match &done {
            Err(error) if error.is_transient() => {
                tracing::info!("try again: {error}");
                None
            }
            Err(error) => {
                tracing::warn!(kind = "KubeVirt", namespace = self.namespace, name = kubevirt.name_any(), "{error}");
                Some(error.to_string())
            }
            Ok(()) => None,
        };
        let generations = self.told_generations();
        if !is_last || failure.is_some() {
            let outcome = Outcome::Done {
                installation: &installation,
                plan: &plan,
                live: &seen.live,
                failure: failure.as_deref(),
                generations: &generations,
            };
            self.tell(kubevirt, &outcome).await;
        }
        Ok(match done {
            Err(_) => Next::Retry,
            Ok(()) if plan.actions.is_empty() => Next::Quiet,
            Ok(()) => Next::Now,
        })
    }

    async fn tell(&self, kubevirt: &KubeVirt, outcome: &Outcome<'_>) {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let status = status::report(kubevirt, outcome, &Speaker { version: VERSION, architecture }, Timestamp::now());
        if let Err(error) = report::write(&self.cluster, kubevirt, &status).await {
            // The next pass says it again.
            tracing::warn!(kind = "KubeVirt", name = kubevirt.name_any(), "tell the status: {error}");
        }
    }

    /// The generations as the status tells them. Those of the bundle are many, and nobody asks.
    fn told_generations(&self) -> Vec<GenerationStatus> {
        let told = self.generations.iter().filter(|(id, _)| id.kind.generation && id.kind.group != "instancetype.kubevirt.io");
        let status = |(id, generation): (&Id, &i64)| GenerationStatus {
            group: id.kind.group.to_owned(),
            resource: id.kind.plural.to_owned(),
            namespace: id.namespace.clone().unwrap_or_default(),
            name: id.name.clone(),
            last_generation: *generation,
            ..GenerationStatus::default()
        };
        told.map(status).collect()
    }
}

/// The generations that an earlier leader told.
fn remembered(kubevirt: &KubeVirt) -> BTreeMap<Id, i64> {
    let known = kubevirt.status.generations.iter().filter_map(|told| {
        let kind = kubevirt_rs::install::KINDS.iter().find(|kind: &&Kind| kind.plural == told.resource && kind.group == told.group)?;
        let namespace = kind.namespaced.then(|| told.namespace.clone());
        Some((Id { kind, namespace, name: told.name.clone() }, told.last_generation))
    });
    known.collect()
}

/// Whether this is the installation that there is.
fn is_ours(kubevirt: &KubeVirt, namespace: &str) -> bool {
    kubevirt.namespace().as_deref() == Some(namespace) && kubevirt.finalizers().iter().any(|finalizer| finalizer == KUBEVIRT_FINALIZER)
}
