//! Documents of every kind that their schemas have nothing against: admission answers for every operation.
#![no_main]

use kubevirt_api::kinds;
use kubevirt_rs::admission::Operation;
use kubevirt_rs_fuzz::{document, judge};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [kind, density, rest @ ..] = bytes else { return };
    let kind = &kinds::ALL[usize::from(*kind) % kinds::ALL.len()];
    let density = u32::from(*density) % 100;
    let numbers: Vec<u32> = rest.iter().map(|byte| u32::from(*byte)).collect();
    let (first, second) = numbers.split_at(numbers.len() / 2);
    let (old, new) = (document(kind, first, density), document(kind, second, density));
    judge(kind.kind, Operation::Create, &new, None);
    judge(kind.kind, Operation::Update, &new, Some(&old));
    judge(kind.kind, Operation::Delete, &new, Some(&new));
});
