//! A real cluster: what someone sees who installs the program and runs machines in it.
//!
//! The points run one after the other, since they share one cluster and some of them kill its parts. Without arguments all
//! run; otherwise those whose names hold an argument. `KUBEVIRT_RS` names the binary; `KUBEVIRT_RS_CLUSTER` a cluster that
//! `make cluster` has started (kvrs), which saves starting one.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

mod cloud_init;
mod cluster;
mod containers;
mod dump;
mod given;
mod guest;
mod kills;
mod library;
mod live_config;
mod rbac;
mod refusals;
mod road;
mod roles;
mod shares;
#[path = "../launcher/sidecar.rs"]
mod sidecar;
mod stuck;
mod tools_of_others;
mod traces;
mod without_api;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use cluster::Cluster;

/// What must be seen; it panics when it is not.
type Point = fn(&Cluster);

const POINTS: [(&str, Point); 21] = [
    ("the_smallest_example_runs_and_answers", road::the_smallest_example_runs_and_answers),
    ("kubevirts_own_client_library_works_unchanged", library::kubevirts_own_client_library_works_unchanged),
    ("a_guest_is_set_up_by_cloud_init_and_answers_ssh", cloud_init::a_guest_is_set_up_by_cloud_init_and_answers_ssh),
    ("every_kind_of_disk_is_in_the_guest", cloud_init::every_kind_of_disk_is_in_the_guest),
    ("a_guest_shares_what_its_pod_has", shares::a_guest_shares_what_its_pod_has),
    ("a_guest_has_what_its_sidecar_secret_node_and_claim_give", given::a_guest_has_what_its_sidecar_secret_node_and_claim_give),
    ("memory_is_dumped_to_a_claim", dump::memory_is_dumped_to_a_claim),
    ("tools_of_others_follow_a_machine", tools_of_others::tools_of_others_follow_a_machine),
    ("tools_of_others_scale_and_apply", tools_of_others::tools_of_others_scale_and_apply),
    ("what_cannot_start_says_why_and_what_to_do", stuck::what_cannot_start_says_why_and_what_to_do),
    ("invalid_objects_are_refused_by_their_field", refusals::invalid_objects_are_refused_by_their_field),
    ("a_garbled_webhook_body_is_denied", refusals::a_garbled_webhook_body_is_denied),
    ("each_role_gives_what_kubevirts_gives_and_no_more", rbac::each_role_gives_what_kubevirts_gives_and_no_more),
    ("the_configuration_counts_at_once_and_a_bad_one_never", live_config::the_configuration_counts_at_once_and_a_bad_one_never),
    ("killing_a_role_harms_no_guest", kills::killing_a_role_harms_no_guest),
    ("a_guest_whose_processes_are_killed_fails_and_comes_back", kills::a_guest_whose_processes_are_killed_fails_and_comes_back),
    ("what_cannot_start_is_tried_again_with_a_back_off", kills::what_cannot_start_is_tried_again_with_a_back_off),
    ("machines_stop_start_and_go_without_the_api", without_api::machines_stop_start_and_go_without_the_api),
    ("deleting_leaves_nothing", traces::deleting_leaves_nothing),
    ("an_exchange_of_the_api_drops_no_request", roles::an_exchange_of_the_api_drops_no_request),
    ("roles_stop_soon_and_tell_what_they_change", roles::roles_stop_soon_and_tell_what_they_change),
];

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| first == given::SIDECAR) {
        return given::serve();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if std::env::args().any(|a| a == "--list") {
        POINTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let chosen: Vec<_> = POINTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()))).collect();
    if chosen.is_empty() {
        println!("test result: ok. 0 passed; 0 failed; {} filtered out", POINTS.len());
        return ExitCode::SUCCESS;
    }
    println!("running {} tests", chosen.len());
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("there is no cluster to test in: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = 0;
    for (name, point) in &chosen {
        let begin = Instant::now();
        // the message of a failure is printed by the panic itself
        let ok = catch_unwind(AssertUnwindSafe(|| point(&cluster))).is_ok();
        println!("test {name} ... {} ({:.0} s)", if ok { "ok" } else { "FAILED" }, begin.elapsed().as_secs_f64());
        failed += usize::from(!ok);
    }
    drop(cluster);
    let passed = chosen.len() - failed;
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {result}. {passed} passed; {failed} failed; {} filtered out", POINTS.len() - chosen.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
