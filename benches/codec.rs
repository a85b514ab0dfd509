//! How many VirtualMachines a second one core decodes and encodes again: a line of JSON.
//!
//!     cargo bench --package kubevirt-api --bench codec --profile library -- FILE
//!
//! FILE has a JSON document a line.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs};

use kubevirt_api::v1::VirtualMachine;

/// How long is measured.
const SPAN: Duration = Duration::from_secs(3);

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds an option of its own
    let file = env::args().skip(1).find(|argument| !argument.starts_with('-')).ok_or("usage: codec FILE")?;
    let text = fs::read_to_string(&file)?;
    let documents: Vec<_> = text.lines().collect();
    if documents.is_empty() {
        return Err(format!("{file} has no document").into());
    }
    let (begin, mut count) = (Instant::now(), 0_u32);
    while begin.elapsed() < SPAN {
        for document in &documents {
            let machine: VirtualMachine = serde_json::from_str(black_box(document))?;
            black_box(serde_json::to_vec(&machine)?);
            count += 1;
        }
    }
    println!("{}", serde_json::json!({"perSecond": (f64::from(count) / begin.elapsed().as_secs_f64()).round()}));
    Ok(())
}
