//! `kubevirt-rs bundle`: the instance types and preferences that come with an installation.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use kubevirt_rs::instancetype::bundle;
use serde::Serialize;
use serde_json::json;

/// The arguments of `bundle`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these
    #[arg(value_enum)]
    what: Option<What>,
    /// How to print them
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Instancetypes,
    Preferences,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

/// Runs `bundle`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match print(args, &mut out).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // whoever reads may stop to
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubevirt-rs: print the bundle: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(args: &Args, out: &mut impl Write) -> io::Result<()> {
    let bundle = bundle();
    let instancetypes = if args.what == Some(What::Preferences) { &[][..] } else { &bundle.instancetypes };
    let preferences = if args.what == Some(What::Instancetypes) { &[][..] } else { &bundle.preferences };
    match args.output {
        Format::Yaml => {
            instancetypes.iter().try_for_each(|object| document(object, out))?;
            preferences.iter().try_for_each(|object| document(object, out))
        }
        Format::Json => {
            let mut items = Vec::new();
            for object in instancetypes {
                items.push(serde_json::to_value(object)?);
            }
            for object in preferences {
                items.push(serde_json::to_value(object)?);
            }
            serde_json::to_writer_pretty(&mut *out, &json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
            writeln!(out)
        }
    }
}

fn document(object: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let text = serde_yaml::to_string(object).map_err(io::Error::other)?;
    write!(out, "---\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_printed_in_either_form() {
        for (what, count) in [(None, 65 + 54), (Some(What::Instancetypes), 65), (Some(What::Preferences), 54)] {
            let mut yaml = Vec::new();
            print(&Args { what, output: Format::Yaml }, &mut yaml).unwrap();
            assert_eq!(String::from_utf8(yaml).unwrap().matches("---\napiVersion: instancetype.kubevirt.io/v1beta1\n").count(), count);
            let mut json = Vec::new();
            print(&Args { what, output: Format::Json }, &mut json).unwrap();
            let list: serde_json::Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(list["items"].as_array().unwrap().len(), count);
        }
    }
}
