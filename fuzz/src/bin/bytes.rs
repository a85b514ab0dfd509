//! Any bytes, as a manifest and as JSON into every type: an answer or an error, never a panic.
#![no_main]

use kubevirt_api::kinds;
use kubevirt_rs::manifest;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(documents) = manifest::read(bytes) {
        for document in documents {
            document.position("spec.template.spec.domain.devices.disks[0].name");
        }
    }
    if let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) {
        for kind in kinds::ALL {
            let _ = (kind.recode)(&document);
            kubevirt_rs::schema::check(kind.kind, &document);
        }
    }
});
