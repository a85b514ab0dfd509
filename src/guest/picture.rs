//! Pictures of the screen: what older QEMUs make is no kind that browsers show.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// The kind of picture that is handed out.
pub const PNG: &str = "image/png";

/// A picture that is not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no PPM of 8 bits a colour: {0}")]
pub struct PictureError(&'static str);

/// Makes a PNG of a binary PPM.
///
/// # Errors
/// It is none.
pub fn png(ppm: &[u8]) -> Result<Vec<u8>, PictureError> {
    let mut rest = ppm.strip_prefix(b"P6").ok_or(PictureError("it does not begin with P6"))?;
    let (width, height, most) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
    // one blank ends the head
    let pixels = rest.get(1..).unwrap_or_default();
    let row = usize::try_from(width).ok().and_then(|w| w.checked_mul(3)).filter(|row| *row > 0).ok_or(PictureError("it has no width"))?;
    let rows = usize::try_from(height).map_err(|_| PictureError("it is too high"))?;
    if most != 255 {
        return Err(PictureError("its colours do not end at 255"));
    }
    if row.checked_mul(rows) != Some(pixels.len()) {
        return Err(PictureError("it is not as large as it says"));
    }
    // every row begins with its filter: none
    let mut raw = Vec::with_capacity(pixels.len() + rows);
    for row in pixels.chunks(row) {
        raw.push(0);
        raw.extend_from_slice(row);
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::with_capacity(13);
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    // 8 bits of each of 3 colours
    head.extend([8, 2, 0, 0, 0]);
    chunk(&mut out, *b"IHDR", &head)?;
    chunk(&mut out, *b"IDAT", &deflate(&raw)?)?;
    chunk(&mut out, *b"IEND", &[])?;
    Ok(out)
}

/// The next number of the head; comments go from `#` to the end of their line.
fn number(rest: &mut &[u8]) -> Result<u32, PictureError> {
    let wrong = PictureError("its head is cut off");
    loop {
        match rest {
            [b'#', ..] => {
                let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                *rest = rest.get(end..).unwrap_or_default();
            }
            [blank, tail @ ..] if blank.is_ascii_whitespace() => *rest = tail,
            _ => break,
        }
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, tail) = rest.split_at_checked(digits).ok_or(PictureError("its head is cut off"))?;
    *rest = tail;
    std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).ok_or(wrong)
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) -> Result<(), PictureError> {
    let length = u32::try_from(content.len()).map_err(|_| PictureError("it is too large"))?;
    let mut sum = Crc::new();
    sum.update(&kind);
    sum.update(content);
    out.extend(length.to_be_bytes());
    out.extend(kind);
    out.extend_from_slice(content);
    out.extend(sum.sum().to_be_bytes());
    Ok(())
}

fn deflate(raw: &[u8]) -> Result<Vec<u8>, PictureError> {
    let mut compress = Compress::new(Compression::fast(), true);
    let mut out = Vec::with_capacity(raw.len() / 4 + 1024);
    loop {
        let done = usize::try_from(compress.total_in()).unwrap_or(raw.len());
        let status = compress.compress_vec(raw.get(done..).unwrap_or_default(), &mut out, FlushCompress::Finish);
        match status.map_err(|_| PictureError("it cannot be compressed"))? {
            Status::StreamEnd => return Ok(out),
            _ => out.reserve(out.capacity().max(1024)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_picture_keeps_its_pixels() {
        let pixels: Vec<u8> = (0..2 * 3 * 700_u32).map(|i| (i * i % 251) as u8).collect();
        let mut ppm = b"P6\n# made by hand\n700 2\n255\n".to_vec();
        ppm.extend(&pixels);
        let png = png(&ppm).unwrap();
        assert_eq!((&png[..8], &png[12..16]), (&b"\x89PNG\r\n\x1a\n"[..], &b"IHDR"[..]));
        assert_eq!((&png[16..24], &png[24..29]), (&[0, 0, 2, 188, 0, 0, 0, 2][..], &[8, 2, 0, 0, 0][..]));
        let length = u32::from_be_bytes(png[33..37].try_into().unwrap()) as usize;
        let mut raw = Vec::new();
        flate2::read::ZlibDecoder::new(&png[41..41 + length]).read_to_end(&mut raw).unwrap();
        let rows: Vec<u8> = raw.chunks(2101).flat_map(|row| row[1..].to_vec()).collect();
        assert_eq!(rows, pixels);
        // the sum of an empty last chunk is known
        assert_eq!(&png[png.len() - 12..], b"\0\0\0\0IEND\xaeB\x60\x82");
    }

    #[test]
    fn what_is_no_picture_is_said() {
        for (ppm, words) in [
            (&b"P5\n1 1\n255\nx"[..], "P6"),
            (b"P6", "cut off"),
            (b"P6\n1 1\n65535\nxxxxxx", "255"),
            (b"P6\n2 1\n255\nxxx", "as large"),
            (b"P6\n0 1\n255\n", "width"),
            (b"P6\n99999999999 1\n255\n", "cut off"),
        ] {
            assert!(png(ppm).unwrap_err().to_string().contains(words), "{words}");
        }
    }
}
