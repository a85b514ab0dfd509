//! The API server: clients, stores, watches, patches, events, leases, work queues.
