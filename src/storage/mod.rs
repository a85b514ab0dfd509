//! Volumes as what the guest gets: overlays, ISO images, seeds.

mod cloud_init;
mod hooked;
pub mod iso9660;
mod plan;
mod sources;

pub use cloud_init::Seed;
pub use hooked::Hooked;
pub use plan::{Build, Image, ImageFormat, Images, StorageError, plan};
pub use sources::{Files, SourceError, Sources};
