//! The schemas of the API: custom resource definitions, and what they say of a document.
