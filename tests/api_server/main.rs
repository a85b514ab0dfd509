//! A real API server, and nothing else: what it makes of the definitions, of the examples, and of the rules in both.
//!
//! The points share one server and run one after the other. Without arguments all run; otherwise those whose names hold
//! an argument. `KUBEVIRT_RS` names the binary whose definitions and policies are tested.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

mod definitions;
mod examples;
mod rules;
mod server;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use server::Server;

/// What must be seen; it panics when it is not.
type Point = fn(&Server);

const POINTS: [(&str, Point); 7] = [
    ("every_definition_is_established_and_structural", definitions::every_definition_is_established_and_structural),
    ("fields_are_explained", definitions::fields_are_explained),
    ("lists_have_the_columns_of_kubevirt", definitions::lists_have_the_columns_of_kubevirt),
    ("every_rule_of_the_definitions_denies_and_admits", rules::every_rule_of_the_definitions_denies_and_admits),
    ("a_whole_number_may_have_a_fraction_of_zero", rules::a_whole_number_may_have_a_fraction_of_zero),
    ("every_example_is_taken", examples::every_example_is_taken),
    ("every_example_is_taken_by_the_policies", examples::every_example_is_taken_by_the_policies),
];

fn main() -> ExitCode {
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
    let server = match Server::start() {
        Ok(server) => server,
        Err(error) => {
            println!("there is no API server to test with: {error}");
            return ExitCode::FAILURE;
        }
    };
    definitions::install(&server);
    let mut failed = 0;
    for (name, point) in &chosen {
        let begin = Instant::now();
        // the message of a failure is printed by the panic itself
        let ok = catch_unwind(AssertUnwindSafe(|| point(&server))).is_ok();
        println!("test {name} ... {} ({:.1} s)", if ok { "ok" } else { "FAILED" }, begin.elapsed().as_secs_f64());
        failed += usize::from(!ok);
    }
    drop(server);
    let passed = chosen.len() - failed;
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {result}. {passed} passed; {failed} failed; {} filtered out", POINTS.len() - chosen.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
