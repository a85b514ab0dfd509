//! Volumes as what the guest gets: overlays, ISO images, seeds.

mod cloud_init;
mod downward_api;
pub mod growth;
mod hooked;
pub mod iso9660;
mod plan;
mod shares;
mod sources;

pub use cloud_init::Seed;
pub use downward_api::downward_api;
pub use hooked::Hooked;
pub use plan::{Build, Image, ImageFormat, Images, StorageError, plan};
pub use shares::{Content, Share, shares};
pub use sources::{ACCOUNT, Files, SourceError, Sources, TOKEN_TYPE};
