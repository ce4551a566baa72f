//! Writes files that are too large for a batch. They are encoded directly into their file, and read back from there, so
//! that only their content is held in memory as a whole.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufReader, BufWriter, ErrorKind::InvalidData, Read, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use repackbench_codec::{CodecError, Decoders, FileDecoder, FileEncoder, ZlibReader};

use super::{Writing, tree_writer::TreeWriter};
use crate::{Progress, Result, WriterError};

/// The number of bytes that are written or read at a time.
const BUFFER: usize = 256 << 10;

/// Writes the file `path` into `tree`.
pub(super) fn write(writing: &Writing<'_>, path: &[u8], content: &[u8], tree: &mut TreeWriter) -> Result<()> {
    let (place, file) = tree.create(path)?;
    let mut encoder = FileEncoder::new(writing.choice)?;
    let from = Path::new(OsStr::from_bytes(path));
    let len =
        encode(&mut encoder, (&mut &*content, from), content.len() as u64, (&file, &place), writing.control.progress)?;
    tree.count(len);
    let mut decoder = FileDecoder::new(encoder.form(), Decoders::from(ZlibReader::Libdeflate));
    let file = File::open(&place).map_err(|error| WriterError::io("read", &place, error))?;
    let fault = fault_in(&mut decoder, file, content, writing.control.progress);
    if writing.control.progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    match fault.map_err(|error| WriterError::io("read", &place, error))? {
        None => Ok(()),
        Some(detail) => {
            let what = String::from_utf8_lossy(path).into_owned();
            Err(WriterError::Unfaithful { path: writing.out.to_owned(), what, detail })
        }
    }
}

/// Encodes the `len` bytes of `content`, which come from the file `from`, into `file`, whose path is `place`. Returns
/// the stored length.
pub(super) fn encode(
    encoder: &mut FileEncoder,
    (content, from): (&mut dyn Read, &Path),
    len: u64,
    (file, place): (&File, &Path),
    progress: &dyn Progress,
) -> Result<u64> {
    let cannot_write = |error| WriterError::io("write", place, error);
    let mut content = Watched { content, fault: None, progress };
    let mut file = BufWriter::with_capacity(BUFFER, file);
    let encoded = encoder.encode_stream(&mut content, len, &mut file);
    if progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    let fault = content.fault;
    let stored = encoded.map_err(|error| match error {
        CodecError::Io { source, .. } => match fault {
            Some(fault) => WriterError::io("read", from, fault),
            None => cannot_write(source),
        },
        // The file changed while it was read.
        CodecError::SourceLength { .. } => WriterError::io("read", from, io::Error::new(InvalidData, error)),
        error => error.into(),
    })?;
    file.flush().map_err(cannot_write)?;
    Ok(stored)
}

/// Decodes `file`, which has to hold `content`. Returns a description of what is wrong with it, if anything.
fn fault_in(
    decoder: &mut FileDecoder,
    file: impl Read,
    content: &[u8],
    progress: &dyn Progress,
) -> io::Result<Option<String>> {
    let (mut rest, mut is_same) = (content, true);
    let mut stored = BufReader::with_capacity(BUFFER, file);
    let decoded = decoder.decode_stream(&mut stored, content.len() as u64, &mut |piece| {
        is_same = rest.split_off(..piece.len()) == Some(piece);
        if is_same && !progress.is_cancelled() { Ok(()) } else { Err(io::Error::other("the content differs")) }
    });
    Ok(match decoded {
        _ if !is_same => Some("different bytes".to_owned()),
        Ok(len) if !rest.is_empty() => Some(format!("{len} of {} bytes", content.len())),
        Ok(_) => None,
        Err(CodecError::Io { source, .. }) => return Err(source),
        Err(error) => Some(error.to_string()),
    })
}

/// Fails when the user stops the work, and keeps read errors, so that they can be told from write errors.
struct Watched<'a> {
    content: &'a mut dyn Read,
    fault: Option<io::Error>,
    progress: &'a dyn Progress,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.content.read(buffer).map_err(|error| {
            let kind = error.kind();
            // The caller retries after this error.
            if kind != io::ErrorKind::Interrupted {
                self.fault = Some(error);
            }
            kind.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use repackbench_codec::CodecSpec;

    use super::*;
    use crate::NoProgress;

    /// Fails after this many bytes.
    struct Failing(usize);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("a broken disk"));
            }
            let len = buffer.len().min(self.0);
            self.0 -= len;
            Ok(len)
        }
    }

    #[test]
    fn errors_name_the_file_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Path::new("old"), folder.path().join("new"));
        for spec in ["store", "zlib:6", "libdeflate:6", "zstd:3", "bzip2:1", "xz:1", "lzo:1", "lz4"] {
            let spec: CodecSpec = spec.parse().unwrap();
            let mut encoder = FileEncoder::new(spec.default_choice()).unwrap();
            let mut error = |content: &mut dyn Read, file: &File| {
                encode(&mut encoder, (content, old), 1_000_000, (file, &new), &NoProgress).unwrap_err().to_string()
            };
            let file = File::create(&new).unwrap();
            assert_eq!(error(&mut Failing(300_000), &file), "old: cannot read: a broken disk", "{spec}");
            let short = error(&mut io::repeat(7).take(300_000), &file);
            assert_eq!(short, "old: cannot read: payload source: expected 1000000 bytes, found 300000", "{spec}");
            let long = error(&mut io::repeat(7).take(1_000_001), &file);
            assert!(
                long.starts_with("old: cannot read: payload source: expected 1000000 bytes, found "),
                "{spec}: {long}"
            );
            let unwritable = File::open(&new).unwrap();
            let written = error(&mut io::repeat(7).take(1_000_000), &unwritable);
            assert!(written.starts_with(&format!("{}: cannot write: ", new.display())), "{spec}: {written}");
        }
    }

    #[test]
    fn any_difference_in_the_written_file_is_detected() {
        let content = b"int main(void) { return 0; }\n".repeat(20_000);
        for spec in ["store", "zlib:6", "zstd:3", "bzip2:1", "xz:1", "lz4"] {
            let spec: CodecSpec = spec.parse().unwrap();
            let mut encoder = FileEncoder::new(spec.default_choice()).unwrap();
            let mut decoder = FileDecoder::new(encoder.form(), Decoders::default());
            let mut fault = |stored: &[u8], content: &[u8]| {
                fault_in(&mut decoder, stored, content, &NoProgress).unwrap().unwrap_or_default()
            };
            let mut stored = Vec::new();
            encoder.encode(&content, &mut stored).unwrap();
            assert_eq!(fault(&stored, &content), "", "{spec}");
            let mut other = content.clone();
            other[400_000] ^= 1;
            assert_eq!(fault(&stored, &other), "different bytes", "{spec}");
            let longer = [&content[..], b"more"].concat();
            assert!(!fault(&stored, &longer).is_empty(), "{spec}");
            assert!(!fault(&stored, &content[..content.len() - 1]).is_empty(), "{spec}");
            assert!(!fault(&stored[..stored.len() - 1], &content).is_empty(), "{spec}");
            assert_eq!(fault(&stored, &content), "", "{spec}: the decoder is as good as before");
        }
    }
}
