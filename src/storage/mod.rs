//! Volumes as what the guest gets: overlays, ISO images, seeds.
