//! The examples with changes: admission answers, and what it lets in can be started.
#![no_main]

use kubevirt_rs::admission::Operation;
use kubevirt_rs_fuzz::oddity::{Numbers, change};
use kubevirt_rs_fuzz::{examples, judge, kind};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut numbers = Numbers::new(bytes);
    let Some(example) = examples().get(numbers.below(examples().len())) else { return };
    let operation = [Operation::Create, Operation::Update, Operation::Delete][numbers.below(3)];
    let mut object = example.clone();
    change(&mut object, examples(), &mut numbers);
    let old = (operation != Operation::Create).then_some(example);
    judge(kind(example), operation, &object, old);
});
