//! A viewer of a guest's screen, as small as the protocol (RFB 3.8, RFC 6143) lets one be.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A picture of a screen.
pub(crate) struct Picture {
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// Four bytes a pixel.
    pub(crate) pixels: Vec<u8>,
}

impl Picture {
    /// How many different pixels there are.
    pub(crate) fn colours(&self) -> usize {
        self.pixels.chunks_exact(4).collect::<std::collections::BTreeSet<_>>().len()
    }
}

fn read<const N: usize>(from: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).expect("the screen answers");
    bytes
}

fn number(bytes: [u8; 2]) -> u16 {
    u16::from_be_bytes(bytes)
}

/// Shakes hands and takes a picture of the whole screen.
pub(crate) fn picture(port: u16) -> Picture {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the screen is served");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let send = |stream: &mut TcpStream, bytes: &[u8]| stream.write_all(bytes).expect("the screen listens");
    assert_eq!(&read::<12>(&mut stream), b"RFB 003.008\n");
    send(&mut stream, b"RFB 003.008\n");
    let [kinds] = read(&mut stream);
    let offered: Vec<u8> = (0..kinds).map(|_| read::<1>(&mut stream)[0]).collect();
    assert!(offered.contains(&1), "nobody is asked for a password: {offered:?}");
    send(&mut stream, &[1]);
    assert_eq!(read::<4>(&mut stream), [0; 4], "the handshake is done");
    send(&mut stream, &[1]); // others may look as well

    let (width, height) = (number(read(&mut stream)), number(read(&mut stream)));
    let format = read::<16>(&mut stream);
    assert_eq!(format[0], 32, "bits a pixel");
    let length = u32::from_be_bytes(read(&mut stream));
    for _ in 0..length {
        read::<1>(&mut stream);
    }

    send(&mut stream, &[2, 0, 0, 1, 0, 0, 0, 0]); // pixels as they are, and nothing else
    let mut request = vec![3, 0, 0, 0, 0, 0];
    request.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    send(&mut stream, &request);
    let mut pixels = vec![0; usize::from(width) * usize::from(height) * 4];
    let mut left = pixels.len();
    while left > 0 {
        let [kind] = read(&mut stream);
        assert_eq!(kind, 0, "an update");
        read::<1>(&mut stream);
        for _ in 0..number(read(&mut stream)) {
            let [x, y, w, h] = [(); 4].map(|()| usize::from(number(read(&mut stream))));
            assert_eq!(read::<4>(&mut stream), [0; 4], "pixels as they are");
            for line in y..y + h {
                let begin = (line * usize::from(width) + x) * 4;
                stream.read_exact(&mut pixels[begin..begin + w * 4]).expect("a line");
            }
            left = left.saturating_sub(w * h * 4);
        }
    }
    Picture { width, height, pixels }
}
