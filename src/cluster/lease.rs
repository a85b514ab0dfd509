//! Leader election: of several copies of a role the one that holds the lease acts. A leader that says goodbye hands the
//! lease back, so that another takes over at its next try; one that vanishes is followed when its lease has run out.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use super::{Cluster, Error, Shutdown};

/// A lease that is not renewed for so long may be taken by another.
const LEASE: Duration = Duration::from_secs(15);
/// A leader that could not renew for so long stops acting: before the lease runs out for the others.
const DEADLINE: Duration = Duration::from_secs(10);
/// So often a leader renews, and the others try.
const RETRY: Duration = Duration::from_secs(2);
/// A lease that is handed back is valid for so many seconds more.
const RELEASED_SECONDS: i32 = 1;

/// One that stands for election.
pub(crate) struct Election {
    cluster: Cluster,
    namespace: String,
    name: String,
    identity: String,
    /// The lease as it was last seen, and when by our own clock it had last changed.
    seen: Option<(LeaseSpec, Instant)>,
}

/// The lease is ours, as long as it is kept.
pub(crate) struct Leadership(Election);

/// What a look at the lease leads to.
#[derive(Debug, PartialEq)]
enum Try {
    /// It is ours, or free: write this.
    Write(LeaseSpec),
    /// Someone else holds it.
    Wait,
}

impl Election {
    /// Stands for the lease of that name. `identity` must be another one for each copy.
    pub(crate) fn new(cluster: &Cluster, namespace: &str, name: &str, identity: &str) -> Self {
        let own = |text: &str| text.to_owned();
        Self { cluster: cluster.clone(), namespace: own(namespace), name: own(name), identity: own(identity), seen: None }
    }

    /// Waits until the lease is ours; `None` when the end is asked for before.
    pub(crate) async fn win(mut self, shutdown: &Shutdown) -> Option<Leadership> {
        loop {
            match shutdown.unless(self.attempt()).await? {
                Ok(true) => {
                    tracing::info!(lease = self.name, "leading");
                    return Some(Leadership(self));
                }
                Ok(false) => {}
                Err(error) => tracing::warn!("try to take the lease {}: {error}", self.name),
            }
            shutdown.unless(sleep(RETRY)).await?;
        }
    }

    /// Tries once to take or to renew the lease.
    async fn attempt(&mut self) -> Result<bool, Error> {
        let mut lease = match self.cluster.get::<Lease>(Some(&self.namespace), &self.name).await {
            Ok(lease) => lease,
            Err(Error::NotFound(_)) => Lease {
                metadata: ObjectMeta { name: Some(self.name.clone()), namespace: Some(self.namespace.clone()), ..ObjectMeta::default() },
                spec: None,
            },
            Err(error) => return Err(error),
        };
        let old = lease.spec.take().unwrap_or_default();
        let now = Instant::now();
        let changed = match &self.seen {
            Some((seen, at)) if *seen == old => *at,
            _ => now,
        };
        self.seen = Some((old.clone(), changed));
        let Try::Write(spec) = step(&self.identity, &old, now.saturating_duration_since(changed), Timestamp::now()) else {
            return Ok(false);
        };
        lease.spec = Some(spec);
        let written = self.write(&lease).await?;
        self.seen = Some((written.spec.unwrap_or_default(), Instant::now()));
        Ok(true)
    }

    /// Writes the lease if it is still the one that was read. A lease is no object whose change is worth a line.
    async fn write(&self, lease: &Lease) -> Result<Lease, Error> {
        let api = kube::Api::<Lease>::namespaced(self.cluster.client.clone(), &self.namespace);
        let params = kube::api::PostParams { field_manager: Some(self.cluster.component.to_owned()), ..Default::default() };
        let writing = async {
            match lease.metadata.resource_version {
                Some(_) => api.replace(&self.name, &params, lease).await,
                None => api.create(&params, lease).await,
            }
        };
        timeout(DEADLINE, writing).await.map_err(|_| Error::Late(DEADLINE))?.map_err(Error::from)
    }
}

impl Leadership {
    /// Keeps the lease. Comes back when it is lost: whoever acts must stop at once.
    pub(crate) async fn keep(&mut self) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < DEADLINE {
            sleep(RETRY).await;
            let left = DEADLINE.saturating_sub(renewed.elapsed());
            match timeout(left, self.0.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => {
                    tracing::error!(lease = self.0.name, "the lease is someone else's");
                    return;
                }
                Ok(Err(error)) => tracing::warn!("renew the lease {}: {error}", self.0.name),
                Err(_) => {}
            }
        }
        tracing::error!(lease = self.0.name, "the lease could not be renewed in time");
    }

    /// Hands the lease back, once nothing acts any more.
    pub(crate) async fn release(self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let election = self.0;
        let handing = async {
            let mut lease = election.cluster.get::<Lease>(Some(&election.namespace), &election.name).await?;
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_deref() == Some(&election.identity) {
                spec.holder_identity = Some(String::new());
                spec.lease_duration_seconds = Some(RELEASED_SECONDS);
                spec.renew_time = Some(MicroTime(Timestamp::now()));
                election.write(&lease).await?;
            }
            Ok::<_, Error>(())
        };
        match timeout(PATIENCE, handing).await {
            Ok(Ok(())) => tracing::info!(lease = election.name, "handed back"),
            Ok(Err(error)) => tracing::warn!("hand the lease {} back: {error}", election.name),
            Err(_) => tracing::warn!("hand the lease {} back: no answer", election.name),
        }
    }
}

/// What to do about a lease that has not changed for so long. The clock of its holder does not count, only that it renews.
fn step(identity: &str, old: &LeaseSpec, unchanged: Duration, now: Timestamp) -> Try {
    let holder = old.holder_identity.as_deref().unwrap_or_default();
    let valid = old.lease_duration_seconds.and_then(|s| u64::try_from(s).ok()).map_or(LEASE, Duration::from_secs);
    if !holder.is_empty() && holder != identity && unchanged < valid {
        return Try::Wait;
    }
    let ours = holder == identity;
    let transitions = old.lease_transitions.unwrap_or_default();
    Try::Write(LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE.as_secs()).ok(),
        acquire_time: if ours { old.acquire_time.clone() } else { Some(MicroTime(now)) },
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(if ours || holder.is_empty() && old.acquire_time.is_none() {
            transitions
        } else {
            transitions.saturating_add(1)
        }),
        ..old.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::simulation::ApiServer;

    fn held(holder: &str, seconds: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(seconds),
            acquire_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        }
    }

    /// How long it takes a stand-by to lead once the leader has said goodbye, or has vanished.
    async fn taken_over(says_goodbye: bool, seed: u64) -> Duration {
        let api = ApiServer::new(seed);
        api.with(|state| state.errs = false);
        let cluster = || Cluster { client: api.client(), component: "c" };
        let stand = |identity: &'static str| {
            let election = Election::new(&cluster(), "n", "virt-controller", identity);
            tokio::spawn(async move { election.win(&Shutdown::new()).await })
        };
        let mut leader = stand("a").await.unwrap().unwrap();
        let next = stand("b");
        // somewhere in between two renewals
        let _ = timeout(Duration::from_millis(5000 + 137 * seed), leader.keep()).await;
        assert!(!next.is_finished(), "two lead");
        let begin = Instant::now();
        if says_goodbye {
            leader.release().await;
        }
        assert!(next.await.unwrap().is_some());
        begin.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn another_takes_over_soon() {
        for (says_goodbye, within) in [(true, 5), (false, 20)] {
            for seed in 0..20 {
                let took = taken_over(says_goodbye, seed).await;
                assert!(took < Duration::from_secs(within), "{says_goodbye} {seed}: {took:?}");
            }
        }
    }

    #[test]
    fn a_lease_is_taken_when_it_is_free_and_kept_when_it_is_ours() {
        let now = Timestamp::from_second(100).unwrap();
        for (old, unchanged, transitions) in [
            (LeaseSpec::default(), 0, Some(0)),
            (held("us", 15), 0, Some(3)),
            (held("other", 15), 0, None),
            (held("other", 15), 14, None),
            (held("other", 15), 15, Some(4)),
            (held("", 1), 0, Some(4)),
        ] {
            let got = match step("us", &old, Duration::from_secs(unchanged), now) {
                Try::Write(spec) => {
                    assert_eq!((spec.holder_identity.as_deref(), spec.renew_time), (Some("us"), Some(MicroTime(now))));
                    let since = if old.holder_identity.as_deref() == Some("us") { Timestamp::UNIX_EPOCH } else { now };
                    assert_eq!(spec.acquire_time, Some(MicroTime(since)));
                    spec.lease_transitions
                }
                Try::Wait => None,
            };
            assert_eq!(got, transitions, "{old:?} {unchanged}");
        }
    }
}
