//! One call by gRPC to whoever listens at a socket.

use std::path::Path;
use std::time::Duration;

use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Endpoint;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

/// Why a call has brought no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("nobody answers: {0}")]
    Unreachable(String),
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("{message}")]
    Refused { code: Code, message: String },
}

/// Calls a method, by a connection of its own.
pub(crate) async fn call<Q, A>(socket: &Path, method: &'static str, question: Q, limit: Duration) -> Result<A, CallError>
where
    Q: prost::Message + Send + Sync + 'static,
    A: prost::Message + Default + Send + Sync + 'static,
{
    let unreachable = |e: tonic::transport::Error| {
        // the error itself only says that there was one
        let cause = std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
        CallError::Unreachable(cause)
    };
    let talk = async {
        let endpoint = Endpoint::try_from(format!("unix://{}", socket.display())).map_err(unreachable)?;
        let channel = endpoint.connect().await.map_err(unreachable)?;
        let mut client = tonic::client::Grpc::new(channel);
        client.ready().await.map_err(unreachable)?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = client.unary(Request::new(question), PathAndQuery::from_static(method), codec).await;
        answer.map(tonic::Response::into_inner).map_err(|status| {
            let message = if status.message().is_empty() { status.code().to_string() } else { status.message().to_owned() };
            CallError::Refused { code: status.code(), message }
        })
    };
    tokio::time::timeout(limit, talk).await.unwrap_or(Err(CallError::Silent(limit)))
}
