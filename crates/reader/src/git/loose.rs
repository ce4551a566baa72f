//! Loose objects. Each is a file with a single chunk, whose payload is `<kind> <size>\0` and the content.
//!
//! | field | width | source |
//! |---|---|---|
//! | kind | `commit`, `tree`, `blob` or `tag` | gitformat-loose(5) |
//! | size | a space, then decimal digits without leading zeros | same |
//! | end of header | one NUL byte | same |
//! | content | `size` bytes | same |

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    path::Path,
};

use repackbench_codec::{BLOCK_LEN, ChunkDecoder, CodecError};

use super::chunk::{append, decode_to_vec};
use crate::{ObjectKind, Place, ReaderError, Result, memory};

/// git inflates this many bytes to find the header, so no valid header is longer.
pub const MAX_HEADER_LEN: usize = 32;

/// Number of bytes of a large file that are read at once.
const BUFFER: usize = 128 << 10;

/// A parsed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LooseHeader {
    /// The object's kind.
    pub kind: ObjectKind,
    /// Length of the content in bytes, as claimed.
    pub content_len: u64,
    /// Length of the header including its NUL.
    pub len: usize,
}

impl LooseHeader {
    /// Parses the header at the start of `prefix`; `None` if it is not valid.
    pub fn parse(prefix: &[u8]) -> Option<Self> {
        let nul = prefix.iter().take(MAX_HEADER_LEN).position(|b| *b == 0)?;
        let header = prefix.get(..nul)?;
        let space = header.iter().position(|b| *b == b' ')?;
        let kind = ObjectKind::from_name(header.get(..space)?)?;
        let digits = header.get(space + 1..)?;
        if digits.is_empty() || (digits.len() > 1 && digits.first() == Some(&b'0')) {
            return None;
        }
        let mut content_len = 0u64;
        for digit in digits {
            let value = digit.checked_sub(b'0').filter(|d| *d <= 9)?;
            content_len = content_len.checked_mul(10)?.checked_add(u64::from(value))?;
        }
        Some(LooseHeader { kind, content_len, len: nul + 1 })
    }

    /// Length of the whole payload: header and content.
    pub fn payload_len(&self) -> u64 {
        self.content_len.saturating_add(self.len as u64)
    }
}

/// Decodes only as much of `stored`, read from `path`, as the header needs.
pub fn read_header(path: &Path, stored: &[u8], decoder: &mut ChunkDecoder) -> Result<LooseHeader> {
    let mut prefix = [0u8; MAX_HEADER_LEN];
    let filled = decoder.decode_prefix(stored, &mut prefix).map_err(|e| damaged(path, e))?;
    parse_header(path, prefix.get(..filled).unwrap_or_default())
}

fn parse_header(path: &Path, prefix: &[u8]) -> Result<LooseHeader> {
    LooseHeader::parse(prefix).ok_or_else(|| {
        ReaderError::corrupt(
            path,
            Place::Whole,
            "a header `<kind> <size>` and NUL",
            format!("{:?}", String::from_utf8_lossy(prefix)),
        )
    })
}

/// Decodes the loose object `stored`, read from `path`. Afterwards `payload` holds header and content.
///
/// # Errors
/// The chunk is damaged, its header is malformed or has a wrong size, or bytes follow the chunk.
pub fn decode(path: &Path, stored: &[u8], decoder: &mut ChunkDecoder, payload: &mut Vec<u8>) -> Result<LooseHeader> {
    let header = read_header(path, stored, decoder)?;
    decode_payload(path, &header, stored, decoder, payload)?;
    Ok(header)
}

/// As [`decode`], with a header that was read before.
///
/// # Errors
/// The chunk is damaged, its header has a wrong size or one that is too large, or bytes follow the chunk.
pub fn decode_payload(
    path: &Path,
    header: &LooseHeader,
    stored: &[u8],
    decoder: &mut ChunkDecoder,
    payload: &mut Vec<u8>,
) -> Result<()> {
    check_size(path, header)?;
    let consumed =
        decode_to_vec(decoder, stored, header.payload_len(), payload).map_err(|error| damaged(path, error))?;
    expect_whole_file(path, stored.len() as u64, consumed)
}

/// A loose object whose header has been read.
#[derive(Debug)]
pub struct LooseFile {
    /// Its header.
    pub header: LooseHeader,
    /// Length of the file in bytes.
    pub stored_len: u64,
    /// The source of its stored bytes if the payload is above [`BLOCK_LEN`]; `None` if they have all been read.
    pub large: Option<LargeLoose>,
}

/// A loose object that is too large to be held in memory, opened at its start.
#[derive(Debug)]
pub struct LargeLoose {
    stored: BufReader<File>,
    stored_len: u64,
    payload_len: u64,
}

impl LooseFile {
    /// A file up to this many bytes is read whole before its header is parsed, since most objects are needed whole.
    const READ_AT_ONCE: u64 = 1 << 20;

    /// No codec stores a payload of [`BLOCK_LEN`] in this many bytes.
    const LONGEST_STORED: u64 = 2 * BLOCK_LEN as u64;

    /// Opens the loose object at `path` and reads its header. Replaces `stored` by its stored bytes, or clears it if
    /// the payload is above [`BLOCK_LEN`].
    ///
    /// # Errors
    /// The file cannot be read, is no loose object, or is much longer than its payload can need.
    pub fn open(path: &Path, decoder: &mut ChunkDecoder, stored: &mut Vec<u8>) -> Result<Self> {
        let cannot_read = |error| ReaderError::io("read", path, error);
        let mut file = File::open(path).map_err(|e| ReaderError::io("open", path, e))?;
        let stored_len = file.metadata().map_err(|e| ReaderError::io("inspect", path, e))?.len();
        let at_once = stored_len <= Self::READ_AT_ONCE;
        let header = if at_once {
            read_to_vec(&file, stored_len, stored).map_err(cannot_read)?;
            read_header(path, stored, decoder)?
        } else {
            read_header_from(path, &mut BufReader::new(&file), decoder)?
        };
        let payload_len = header.payload_len();
        if payload_len > BLOCK_LEN as u64 {
            stored.clear();
            file.rewind().map_err(cannot_read)?;
            let large = LargeLoose { stored: BufReader::with_capacity(BUFFER, file), stored_len, payload_len };
            return Ok(LooseFile { header, stored_len, large: Some(large) });
        }
        if stored_len > Self::LONGEST_STORED {
            return Err(damaged(path, format!("{stored_len} stored bytes for a payload of {payload_len}")));
        }
        if !at_once {
            file.rewind().map_err(cannot_read)?;
            read_to_vec(&file, stored_len, stored).map_err(cannot_read)?;
        }
        Ok(LooseFile { header, stored_len: stored.len() as u64, large: None })
    }
}

impl LargeLoose {
    /// Length of header and content in bytes, as claimed.
    pub fn payload_len(&self) -> u64 {
        self.payload_len
    }

    /// The file, from its start. A decoder reads the chunk from it.
    pub fn stored(&mut self) -> &mut BufReader<File> {
        &mut self.stored
    }

    /// Checks `result`, which decoding returned: the chunk has to be valid and as long as the file at `path`.
    ///
    /// # Errors
    /// The chunk is damaged, bytes follow it, or the file could not be read.
    pub fn check_consumed(&self, path: &Path, result: std::result::Result<u64, CodecError>) -> Result<()> {
        let consumed = result.map_err(|error| damaged_or_unreadable(path, error))?;
        expect_whole_file(path, self.stored_len, consumed)
    }

    /// Decodes the object, read from `path`, into `payload`: header and content.
    ///
    /// # Errors
    /// As for [`decode`](LargeLoose::decode). Also, the object is too large to be held.
    pub fn decode_to_vec(
        &mut self,
        path: &Path,
        header: &LooseHeader,
        decoder: &mut ChunkDecoder,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        check_size(path, header)?;
        payload.clear();
        let payload_len = self.payload_len;
        let result =
            decoder.decode_stream_from(&mut self.stored, payload_len, &mut |piece| append(payload, piece, payload_len));
        self.check_consumed(path, result)
    }

    /// Decodes the object, read from `path`, and hands header and content to `sink` in pieces. On an error the pieces
    /// must be discarded.
    ///
    /// # Errors
    /// The chunk is damaged, its header has a wrong size, bytes follow the chunk, or the file cannot be read.
    pub fn decode(mut self, path: &Path, decoder: &mut ChunkDecoder, mut sink: impl FnMut(&[u8])) -> Result<()> {
        let result = decoder.decode_stream_from(&mut self.stored, self.payload_len, &mut |piece| {
            sink(piece);
            Ok(())
        });
        self.check_consumed(path, result)
    }
}

/// As [`read_header`], from an open file at its start.
pub(crate) fn read_header_from(
    path: &Path,
    stored: &mut dyn BufRead,
    decoder: &mut ChunkDecoder,
) -> Result<LooseHeader> {
    let mut prefix = [0u8; MAX_HEADER_LEN];
    let filled = decoder.decode_prefix_from(stored, &mut prefix).map_err(|error| damaged_or_unreadable(path, error))?;
    parse_header(path, prefix.get(..filled).unwrap_or_default())
}

fn check_size(path: &Path, header: &LooseHeader) -> Result<()> {
    memory::check(header.content_len).map_err(|excess| ReaderError::too_large(path, Place::Whole, "an object", excess))
}

/// Replaces `stored` by the first `len` bytes of `file`, or all of it if it is shorter.
fn read_to_vec(mut file: &File, len: u64, stored: &mut Vec<u8>) -> std::io::Result<()> {
    stored.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
    let mut filled = 0;
    while let Some(room) = stored.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stored.truncate(filled);
    Ok(())
}

fn expect_whole_file(path: &Path, stored_len: u64, consumed: u64) -> Result<()> {
    match stored_len.checked_sub(consumed) {
        Some(0) => Ok(()),
        rest => Err(damaged(path, format!("{} trailing bytes", rest.unwrap_or_default()))),
    }
}

fn damaged(path: &Path, found: impl ToString) -> ReaderError {
    ReaderError::corrupt(path, Place::Whole, "a loose object", found.to_string())
}

/// The error for a decoder that reads from the file itself.
fn damaged_or_unreadable(path: &Path, error: CodecError) -> ReaderError {
    match error {
        CodecError::Io { source, .. } => ReaderError::io("read", path, source),
        error => damaged(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_as_strictly_as_in_git() {
        let header = LooseHeader::parse(b"blob 120\0rest").unwrap();
        assert_eq!(header, LooseHeader { kind: ObjectKind::Blob, content_len: 120, len: 9 });
        assert_eq!(header.payload_len(), 129);
        assert_eq!(LooseHeader::parse(b"tree 0\0").unwrap().content_len, 0);
        for bad in [
            &b"blob 01\0"[..],
            b"blob \0",
            b"blob\0",
            b"blub 1\0",
            b"blob 1",
            b"blob -1\0",
            b"blob 99999999999999999999\0",
        ] {
            assert_eq!(LooseHeader::parse(bad), None, "{bad:?}");
        }
    }
}
