//! The memory balloon.

use super::super::guest::Guest;
use super::super::model::Balloon;

pub(super) fn convert(guest: &Guest<'_>) -> Balloon {
    if guest.devices().autoattach_mem_balloon == Some(false) {
        return Balloon::default();
    }
    Balloon {
        model: Some(guest.virtio),
        free_page_reporting: guest.facts.free_page_reporting,
        period: Some(guest.facts.balloon_period).filter(|seconds| *seconds != 0),
        iommu: guest.uses_iommu(),
        address: None,
    }
}
