//! `kubevirt-rs explain-overhead`: how the memory request of a launcher pod comes about, line by line.

use std::fmt::Write as _;
use std::process::ExitCode;

use kubevirt_rs::api::Quantity;
use kubevirt_rs::pod::{self, COMPUTE, overhead};

use super::scene::{self, File, Scene};

/// Runs `explain-overhead`.
pub(crate) fn run(args: &File) -> ExitCode {
    super::print(scene::read(&args.file).and_then(|scene| explain(&scene)))
}

fn explain(scene: &Scene) -> anyhow::Result<String> {
    let rendered = pod::render(&scene.vmi, &scene.config, &scene.context);
    let pod = rendered.map_err(|error| scene.fault(error.field(), &error))?;
    let mut text = String::new();
    let mut line = |what: &str, bytes: i128| writeln!(text, "{:>14}  {what}", mebibytes(bytes));
    for term in overhead::explain(&scene.vmi, &scene.config) {
        line(&term.what, term.bytes)?;
    }
    line("= overhead", overhead::total(&scene.vmi, &scene.config).value())?;
    let compute = pod.spec.iter().flat_map(|spec| &spec.containers).find(|c| c.name == COMPUTE);
    let resources = compute.and_then(|c| c.resources.as_ref());
    let amounts = resources.map(|r| [("requests", &r.requests), ("limits", &r.limits)]);
    for (list, amounts) in amounts.into_iter().flatten() {
        let of_memory = amounts.iter().flatten().filter(|(name, _)| *name == "memory" || name.starts_with("hugepages-"));
        for (name, amount) in of_memory {
            let bytes = amount.0.parse::<Quantity>()?.value();
            line(&format!("{list}.{name} of the container {COMPUTE:?}"), bytes)?;
        }
    }
    Ok(text)
}

fn mebibytes(bytes: i128) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}
