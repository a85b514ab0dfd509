//! How a guest asks for its metrics by a virtio-serial port: a line like HTTP's and an empty one, answered by the
//! document and an empty line. One request is answered after the other, and no more than one a second.

use std::time::Duration;

/// The only path that there is.
const PATH: &str = "/metrics/XML";
/// No request that is understood is longer. What is longer is not kept: the guest must not fill the host's memory.
const LONGEST: usize = 1024;
const PAUSE: Duration = Duration::from_secs(1);

/// The answer to what is not understood.
pub const INVALID: &[u8] = b"INVALID REQUEST\n\n";
/// The answer while there are no figures.
pub const UNAVAILABLE: &[u8] = b"<metrics><!-- host metrics not available --><!-- VM metrics not available --></metrics>\n\n";

/// The answer with a document.
pub fn answer(document: &str) -> Vec<u8> {
    [document.as_bytes(), b"\n\n"].concat()
}

/// What the guest has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// For its metrics.
    Metrics,
    /// Nothing that is understood.
    Invalid,
}

/// The host's end of the port.
#[derive(Debug, Default)]
pub struct Channel {
    read: Vec<u8>,
    /// When the next answer may be given.
    next: Duration,
}

impl Channel {
    /// Takes in what the guest has written.
    pub fn push(&mut self, bytes: &[u8]) {
        self.read.extend_from_slice(bytes);
    }

    /// The next request, once the guest has written all of it. After one that is not understood nobody knows where the
    /// next one begins, so that what was written along with it is dropped.
    pub fn take(&mut self) -> Option<Request> {
        let mut ends = self.read.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(i, _)| i);
        let request = match (ends.next(), ends.next()) {
            (Some(first), Some(second)) => {
                let is_valid = is_metrics(line(&self.read[..first])) && line(&self.read[first + 1..second]).is_empty();
                if is_valid { Some((Request::Metrics, second + 1)) } else { Some((Request::Invalid, self.read.len())) }
            }
            _ if self.read.len() > LONGEST => Some((Request::Invalid, self.read.len())),
            _ => None,
        };
        let (request, length) = request?;
        self.read.drain(..length);
        Some(request)
    }

    /// How long to wait with the answer that is to be given now.
    pub fn wait(&mut self, now: Duration) -> Duration {
        let at = self.next.max(now);
        self.next = at + PAUSE;
        at - now
    }
}

/// A line without its end.
fn line(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

fn is_metrics(line: &[u8]) -> bool {
    let Some(target) = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix("GET ")) else { return false };
    target.split('?').next() == Some(PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &[u8]) -> Vec<Request> {
        let mut channel = Channel::default();
        channel.push(text);
        std::iter::from_fn(|| channel.take()).collect()
    }

    #[test]
    fn one_request_is_understood() {
        for text in ["GET /metrics/XML\n\n", "GET /metrics/XML\r\n\r\n", "GET /metrics/XML?now=1\n\n"] {
            assert_eq!(requests(text.as_bytes()), [Request::Metrics], "{text:?}");
        }
        for text in [
            "PUT /metrics/XML\n\n",
            "/metrics/XML\n\n",
            "GET  /metrics/XML\n\n",
            "GET \\metrics\\XML\n\n",
            "GET /other\n\n",
            "GET /metrics/XML HTTP/1.1\n\n",
            "GET /metrics/XML\nHost: here\n\n",
            "get /metrics/XML\n\n",
            "\n\n",
        ] {
            assert_eq!(requests(text.as_bytes()), [Request::Invalid], "{text:?}");
        }
        assert_eq!(requests(b"GET /metrics/XML\xff\n\n"), [Request::Invalid]);
    }

    #[test]
    fn a_request_comes_in_pieces_or_with_the_next_one() {
        let mut channel = Channel::default();
        for piece in ["", "GET /met", "rics/XML\n"] {
            channel.push(piece.as_bytes());
            assert_eq!(channel.take(), None);
        }
        channel.push(b"\nGET /metrics/XML\n\nGET");
        assert_eq!((channel.take(), channel.take(), channel.take()), (Some(Request::Metrics), Some(Request::Metrics), None));
        // what is wrong takes the rest along
        channel.push(b" /other\n\nGET /metrics/XML\n\n");
        assert_eq!((channel.take(), channel.take()), (Some(Request::Invalid), None));
        channel.push(b"GET /metrics/XML\n\n");
        assert_eq!(channel.take(), Some(Request::Metrics));
    }

    #[test]
    fn a_guest_that_writes_without_end_fills_no_memory() {
        let mut channel = Channel::default();
        for _ in 0..1000 {
            channel.push(&[b'x'; 512]);
            channel.take();
            assert!(channel.read.len() <= LONGEST);
        }
    }

    #[test]
    fn no_more_than_one_answer_is_given_a_second() {
        let (mut channel, second) = (Channel::default(), Duration::from_secs(1));
        assert_eq!(channel.wait(second * 100), Duration::ZERO);
        assert_eq!(channel.wait(Duration::from_millis(100_200)), Duration::from_millis(800));
        assert_eq!(channel.wait(second * 101), second);
        assert_eq!(channel.wait(second * 200), Duration::ZERO);
    }
}
