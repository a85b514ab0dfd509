//! HTTPS and WebSocket serving: certificates, authentication, authorization, health, metrics.
