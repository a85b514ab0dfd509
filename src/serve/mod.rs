//! HTTPS and WebSocket serving: certificates, authentication, authorization, health, metrics.
//!
//! ```text
//!  files ── certificates ─┐
//!  bundle ─ authority ────┴─▶ tls ─▶ server ─▶ Service::answer(Request) ─▶ reply
//!                                      │            │ websocket: the connection becomes a stream
//!                                      └ limits     └ review: AdmissionReview in, AdmissionReview out
//! ```
//!
//! A change of certificates, bundles or TLS settings makes a new configuration for the connections to come; those that
//! stand go on with theirs. Nothing that a client sends ends more than its own request.

pub(crate) mod access;
pub(crate) mod authority;
pub(crate) mod certificates;
pub(crate) mod client;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod relay;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod review;
pub(crate) mod server;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod tls;
pub(crate) mod webhooks;
pub(crate) mod websocket;

pub(crate) use crate::cluster::Shutdown;
pub(crate) use limits::Limits;
pub(crate) use reply::Response;
pub(crate) use request::Request;
pub(crate) use server::{Server, Service};
