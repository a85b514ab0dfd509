//! Passing bytes on between two sides, until one of them ends.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::net::UdpSocket;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::websocket::Socket;

/// How long the other direction may go on once one side has ended: long enough for what is under way.
const REST: Duration = Duration::from_secs(5);
/// How often a silent client is asked whether it is still there.
const ASK: Duration = Duration::from_secs(10);
/// How long it may take to say so.
const SILENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 16 * 1024;
/// The biggest packet there is.
const PACKET: usize = 64 * 1024;

/// Passes bytes on in both directions, frames and all. When one side ends, the other is told, and gets a moment.
pub(crate) async fn raw(one: impl AsyncRead + AsyncWrite + Unpin, other: impl AsyncRead + AsyncWrite + Unpin) {
    let (mut one_in, mut one_out) = tokio::io::split(one);
    let (mut other_in, mut other_out) = tokio::io::split(other);
    let there = async {
        let _ = tokio::io::copy(&mut one_in, &mut other_out).await;
        let _ = other_out.shutdown().await;
    };
    let back = async {
        let _ = tokio::io::copy(&mut other_in, &mut one_out).await;
        let _ = one_out.shutdown().await;
    };
    tokio::pin!(there, back);
    tokio::select! {
        () = &mut there => drop(tokio::time::timeout(REST, back).await),
        () = &mut back => drop(tokio::time::timeout(REST, there).await),
    }
}

/// Where the bytes for a client come from.
pub(crate) trait Source {
    /// What comes next; nothing at the end.
    fn receive(&mut self) -> impl Future<Output = io::Result<Option<Bytes>>> + Send;
}

/// Where the bytes of a client go.
pub(crate) trait Target {
    /// Sends what came in one message.
    fn send(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// One direction of the far side, with a buffer for what comes.
pub(crate) struct Half<T>(T, Vec<u8>);

/// The two directions of a stream of bytes.
pub(crate) fn stream<S: AsyncRead + AsyncWrite>(stream: S) -> (Half<ReadHalf<S>>, Half<WriteHalf<S>>) {
    let (read, write) = tokio::io::split(stream);
    (Half(read, vec![0; BUFFER]), Half(write, Vec::new()))
}

/// The two directions of a connected socket for packets, each of which is a message.
pub(crate) fn packets(socket: UdpSocket) -> (Half<Arc<UdpSocket>>, Half<Arc<UdpSocket>>) {
    let socket = Arc::new(socket);
    (Half(Arc::clone(&socket), vec![0; PACKET]), Half(socket, Vec::new()))
}

impl<S: AsyncRead + Send> Source for Half<ReadHalf<S>> {
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let count = self.0.read(&mut self.1).await?;
        Ok(self.1.get(..count).filter(|read| !read.is_empty()).map(Bytes::copy_from_slice))
    }
}

impl<S: AsyncWrite + Send> Target for Half<WriteHalf<S>> {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }
}

impl Source for Half<Arc<UdpSocket>> {
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let count = self.0.recv(&mut self.1).await?;
        Ok(Some(self.1.get(..count).map(Bytes::copy_from_slice).unwrap_or_default()))
    }
}

impl Target for Half<Arc<UdpSocket>> {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.send(bytes).await.map(drop)
    }
}

/// Passes on what a WebSocket and its far side send, until one of them ends, breaks, or the client is silent for long
/// though it was asked whether it is there. Neither direction waits for the other.
pub(crate) async fn messages<S>(socket: Socket<S>, (source, target): (impl Source, impl Target))
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sink, mut messages) = socket.split();
    let heard = Mutex::new(Instant::now());
    let ended = tokio::select! {
        ended = outwards(&mut messages, target, &heard) => ended,
        ended = inwards(source, &mut sink, &heard) => ended,
    };
    match ended {
        Ok(()) | Err(Error::ConnectionClosed) => {}
        Err(error) => tracing::debug!(%error, "a stream broke"),
    }
    // the normal end, as clients expect it
    let close = async {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        let _ = sink.send(Message::Close(Some(frame))).await;
        while let Some(Ok(_)) = messages.next().await {}
    };
    let _ = tokio::time::timeout(REST, close).await;
}

type Messages<S> = SplitStream<Socket<S>>;
type Sink<S> = SplitSink<Socket<S>, Message>;

async fn outwards<S>(messages: &mut Messages<S>, mut target: impl Target, heard: &Mutex<Instant>) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = messages.next().await.transpose()? {
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        match message {
            Message::Binary(bytes) => target.send(&bytes).await?,
            Message::Close(_) => return Ok(()),
            // pings are answered below, and text has no meaning here
            _ => {}
        }
    }
    Ok(())
}

async fn inwards<S>(mut source: impl Source, sink: &mut Sink<S>, heard: &Mutex<Instant>) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut ask = interval(ASK);
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            bytes = source.receive() => match bytes? {
                Some(bytes) => sink.send(Message::Binary(bytes)).await?,
                None => return Ok(()),
            },
            _ = ask.tick() => {
                if heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > SILENCE {
                    return Ok(());
                }
                sink.send(Message::Ping(Bytes::from_static(b"keep alive"))).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::Role;

    #[tokio::test]
    async fn bytes_go_through_in_both_directions_until_one_side_ends() {
        let ((mut client, near), (far, mut guest)) = (duplex(64), duplex(64));
        let relay = tokio::spawn(raw(near, far));
        client.write_all(b"hello").await.unwrap();
        let mut read = [0; 5];
        guest.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");
        guest.write_all(b"there").await.unwrap();
        drop(guest);
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"there");
        drop(client);
        tokio::time::timeout(REST, relay).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn messages_become_bytes_and_bytes_messages() {
        let ((client, near), (far, mut guest)) = (duplex(1024), duplex(1024));
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        let near = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
        let relay = tokio::spawn(messages(near, stream(far)));
        client.send(Message::Binary(Bytes::from_static(b"ls\n"))).await.unwrap();
        let mut read = [0; 3];
        guest.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"ls\n");
        guest.write_all(b"file").await.unwrap();
        drop(guest);
        let mut got = Vec::new();
        loop {
            match client.next().await {
                Some(Ok(Message::Binary(bytes))) => got.extend_from_slice(&bytes),
                Some(Ok(Message::Close(_))) | None => break,
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("{error}"),
            }
        }
        assert_eq!(got, b"file");
        let _ = client.close(None).await;
        tokio::time::timeout(REST * 2, relay).await.unwrap().unwrap();
    }
}
