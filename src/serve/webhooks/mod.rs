//! The webhooks: each path of the configuration, looked up in the table that the configuration is made from.

mod eviction;
mod launcher_pod;
pub(crate) mod lookup;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kubevirt_rs::admission::{self, Operation, Request as Judged, Seed, Verdict};
use kubevirt_rs::install::webhooks::{Asks, Webhook, at};
use kubevirt_rs::lifecycle::vm;
use serde::Deserialize;
use serde_json::{Value, json};

use super::review::{self, Question, Reply};
use super::{Request, Response};
use crate::cluster::Configuration;

pub(crate) use lookup::{LookupError, Presets};

/// How long the first questions wait for the configuration: API servers wait 10 s.
const CONFIGURATION: std::time::Duration = std::time::Duration::from_secs(5);

/// Who judges.
#[derive(Clone)]
pub(crate) struct Gate {
    /// The API server, for what a judgement needs to know.
    pub(crate) client: Client,
    /// The configuration of the cluster.
    pub(crate) configuration: Configuration,
    /// The namespace of the installation.
    pub(crate) namespace: String,
    /// Presets, which every new instance is compared with.
    pub(crate) presets: Presets,
}

impl Gate {
    /// Answers a request to a path of the webhooks; nothing, if it is none.
    pub(crate) async fn answer(&self, request: &mut Request) -> Option<Response> {
        let webhook = at(request.path())?;
        Some(review::serve(request, |question| self.judge(webhook, question)).await)
    }

    /// Judges what is asked at a webhook.
    pub(crate) async fn judge(&self, webhook: &Webhook, question: Question) -> Reply {
        let resource = &question.resource;
        let whole = if question.sub_resource.is_empty() {
            resource.resource.clone()
        } else {
            format!("{}/{}", resource.resource, question.sub_resource)
        };
        if resource.group != webhook.group || !webhook.resources.contains(&whole.as_str()) {
            let wanted = webhook.resources.join(" or ");
            return Reply::deny(
                400,
                format!("{} judges {wanted} of the group {:?}, not {whole} of {:?}", webhook.path, webhook.group, resource.group),
            );
        }
        let Some(config) = self.configuration.known(CONFIGURATION).await else {
            return Reply::deny(503, "the configuration of the cluster is not known yet; try again");
        };
        match webhook.asks {
            Asks::Eviction => eviction::judge(&self.client, &config, &question).await,
            Asks::LauncherPod => launcher_pod::complete(&self.client, &config, &question).await,
            Asks::Defaults => self.review(&question, &config, admission::needs::needs, defaulted).await,
            Asks::Judgement => {
                self.review(&question, &config, admission::needs::needs, |request| Reply::verdict(&admission::review(request))).await
            }
            Asks::StatusJudgement => {
                let judge = |request: &Judged| Reply::verdict(&admission::review_status(request));
                self.review(&question, &config, admission::needs::status_needs, judge).await
            }
        }
    }

    /// Reads what the judgement needs, and judges.
    async fn review(
        &self,
        question: &Question,
        config: &kubevirt_rs::config::ClusterConfig,
        needs: fn(&Judged) -> Vec<admission::needs::Need>,
        judge: fn(&Judged) -> Reply,
    ) -> Reply {
        let Some(operation) = question.operation.operation() else { return Reply::allow() };
        let old = Some(&question.old_object).filter(|old| !old.is_null());
        // what goes is judged as it is
        let object = if operation == Operation::Delete { old.unwrap_or(&question.object) } else { &question.object };
        if !object.is_object() {
            return Reply::deny(400, "request.object must be the object");
        }
        let base = Judged {
            kind: &question.kind.kind,
            operation,
            config,
            object,
            old,
            user: question.user(),
            user_node: question.user_node(),
            namespace: &self.namespace,
            cluster: &[],
            seed: seed(),
            now: jiff::Timestamp::now(),
        };
        let cluster = match lookup::read(&self.client, &self.presets, |known| needs(&Judged { cluster: known, ..base })).await {
            Ok(cluster) => cluster,
            Err(error) => return Reply::deny(500, format!("{error}; try again")),
        };
        review::guarded(|| judge(&Judged { cluster: &cluster, ..base }))
    }
}

/// The changes that make the defaulted object of the one that was sent. Warnings come with the judgement.
fn defaulted(request: &Judged) -> Reply {
    let Verdict { allowed, mut object, causes, .. } = admission::defaults(request);
    if allowed {
        mark(request, &mut object);
        Reply::change(&json_patch::diff(request.object, &object))
    } else {
        Reply::verdict(&Verdict { allowed, object: Value::Null, causes, warnings: Vec::new() })
    }
}

/// Marks a new machine as its controller would in its first write, which is saved by that.
fn mark(request: &Judged, machine: &mut Value) {
    if request.kind != "VirtualMachine" || request.operation != Operation::Create {
        return;
    }
    let Some(metadata) = machine.get_mut("metadata") else { return };
    if let Ok(mut meta) = ObjectMeta::deserialize(&*metadata) {
        vm::mark(&mut meta);
        metadata["annotations"] = json!(meta.annotations);
        metadata["finalizers"] = json!(meta.finalizers);
    }
}

fn seed() -> Seed {
    Seed(rand::random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubevirt_rs::api::v1::KubeVirtConfiguration;
    use kubevirt_rs::config::ClusterConfig;

    #[test]
    fn a_new_machine_is_marked_and_no_other_object() {
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let object = json!({"metadata": {"name": "a", "annotations": {"own": "1"}}});
        for (kind, operation, marked) in [
            ("VirtualMachine", Operation::Create, true),
            ("VirtualMachine", Operation::Update, false),
            ("VirtualMachineInstance", Operation::Create, false),
        ] {
            let request = Judged {
                kind,
                operation,
                config: &config,
                object: &object,
                old: None,
                user: "",
                user_node: None,
                namespace: "kubevirt",
                cluster: &[],
                seed: Seed(1),
                now: jiff::Timestamp::UNIX_EPOCH,
            };
            let mut found = object.clone();
            mark(&request, &mut found);
            assert_eq!(found != object, marked, "{kind} {operation:?}");
            assert_eq!(found["metadata"]["annotations"]["own"], "1");
            let finalizers = json!(["kubevirt.io/virtualMachineControllerFinalize"]);
            assert_eq!(found["metadata"]["finalizers"] == finalizers, marked);
        }
    }
}
