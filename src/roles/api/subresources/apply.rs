//! Carries out what was decided: each write in order, each only if its object still is what the decision saw.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kubevirt_rs::api::v1::{VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceMigration};
use kubevirt_rs::lifecycle::subresource::{Refusal, Request, Target, Write};
use serde_json::json;

/// Carries the writes out. The first that fails ends the request.
pub(super) async fn apply(client: &Client, request: &Request<'_>, writes: &[Write]) -> Result<(), Refusal> {
    for write in writes {
        let done = match write {
            Write::Patch { target, patch, dry_run, .. } => patched(client, request, *target, &json!(patch), is_trial(dry_run)).await,
            Write::Migrate { migration, dry_run } => migrated(client, request, migration, is_trial(dry_run)).await,
        };
        done.map_err(|error| refused(write, request, &error))?;
    }
    Ok(())
}

fn is_trial(dry_run: &[String]) -> bool {
    dry_run.iter().any(|word| word == "All")
}

async fn patched(client: &Client, request: &Request<'_>, target: Target, patch: &serde_json::Value, dry_run: bool) -> kube::Result<()> {
    let patch: json_patch::Patch = serde_json::from_value(patch.clone()).map_err(kube::Error::SerdeError)?;
    let patch = Patch::<DynamicObject>::Json(patch);
    let params = PatchParams { dry_run, ..PatchParams::default() };
    let (namespace, name) = (request.namespace, request.name);
    match target {
        Target::Machine => Api::<VirtualMachine>::namespaced(client.clone(), namespace).patch(name, &params, &patch).await.map(drop),
        Target::MachineStatus => {
            Api::<VirtualMachine>::namespaced(client.clone(), namespace).patch_status(name, &params, &patch).await.map(drop)
        }
        Target::Instance => {
            Api::<VirtualMachineInstance>::namespaced(client.clone(), namespace).patch(name, &params, &patch).await.map(drop)
        }
    }?;
    tracing::info!(kind = target.kind(), namespace, name, operation = request.operation, dry_run, "patched");
    Ok(())
}

async fn migrated(client: &Client, request: &Request<'_>, migration: &VirtualMachineInstanceMigration, dry_run: bool) -> kube::Result<()> {
    let api: Api<VirtualMachineInstanceMigration> = Api::namespaced(client.clone(), request.namespace);
    let made = api.create(&PostParams { dry_run, ..PostParams::default() }, migration).await?;
    let name = made.metadata.name.as_deref().unwrap_or_default();
    tracing::info!(kind = "VirtualMachineInstanceMigration", namespace = request.namespace, name, dry_run, "created");
    Ok(())
}

/// The answer to a request whose write did not go through. What admission says of it goes on to the client as it is.
fn refused(write: &Write, request: &Request<'_>, error: &kube::Error) -> Refusal {
    use kubevirt_rs::lifecycle::subresource::Reason;
    let kube::Error::Api(status) = error else { return Refusal::internal(error) };
    let is_test =
        status.message.contains("testing path") || status.message.contains("test failed") || status.message.contains("test operation");
    match (status.code, write) {
        (404, Write::Patch { target, .. }) => Refusal::not_found(target.kind(), request.name),
        // a test of the patch that does not hold is 422 without causes, a conflict of versions is 409
        (409, _) => write.raced(request.name),
        (422, Write::Patch { .. }) if is_test => write.raced(request.name),
        (code, _) => {
            let reason = match code {
                400 => Reason::BadRequest,
                403 => Reason::Forbidden,
                404 => Reason::NotFound,
                422 => Reason::Invalid,
                _ => return Refusal::internal(&status.message),
            };
            let mut refusal = Refusal::bad_request(&*status.message).as_reason(reason);
            let causes = status.details.iter().flat_map(|details| &details.causes);
            refusal.causes = causes
                .map(|cause| k8s_openapi::apimachinery::pkg::apis::meta::v1::StatusCause {
                    field: Some(cause.field.clone()),
                    message: Some(cause.message.clone()),
                    reason: Some(cause.reason.clone()),
                })
                .collect();
            refusal
        }
    }
}
