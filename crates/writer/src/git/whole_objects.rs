//! Encodes whole objects for stores that have no deltas, on several threads.

use std::{
    io::{BufRead, Read, Write},
    ops::ControlFlow,
    path::Path,
};

use repackbench_codec::{ChunkDecoder, ChunkKind, KindEncoders, ZlibReader};
use repackbench_reader::{
    ObjectKind, ReaderError,
    git::{
        GitRepository,
        chunk::decode_to_vec,
        whole::{WholeContent, WholeObject, WholeVisitor, count_objects, visit_whole_objects},
    },
};

use super::stream::{self, SourceChunk};
use crate::{Encoding, Progress, ProgressUnit, Result, WriterError};

/// A buffer that one object made larger than this is shrunk to this size.
pub(super) const LARGEST_KEPT: usize = 4 << 20;

/// Receives the objects of one thread.
pub(super) trait ObjectSink: Send {
    /// Stores `object`.
    fn store(&mut self, object: WholeObject<'_>) -> Result<()>;
}

/// Passes every object of `source` to one of `sinks`, and checks that all were stored. Each sink works on a thread of
/// its own if enough threads can be started.
pub(super) fn store_objects<S: ObjectSink>(
    source: &GitRepository,
    sinks: Vec<S>,
    label: &'static str,
    progress: &dyn Progress,
) -> Result<Vec<S>> {
    let expected = count_objects(source)?;
    progress.start(label, expected, ProgressUnit::Items);
    let mut visitors: Vec<Visitor<'_, S>> =
        sinks.into_iter().map(|sink| Visitor { sink, progress, stored: 0, failure: None }).collect();
    visit_whole_objects(source, &mut visitors)?;
    progress.finish();
    let stored = visitors.iter().map(|visitor| visitor.stored).sum();
    let sinks: Vec<S> =
        visitors.into_iter().map(|visitor| visitor.failure.map_or(Ok(visitor.sink), Err)).collect::<Result<_>>()?;
    check_all_written(source.git_dir(), expected, stored)?;
    Ok(sinks)
}

/// Checks that all of the `expected` objects of the repository at `path` were written.
pub(super) fn check_all_written(path: &Path, expected: u64, written: u64) -> Result<()> {
    match expected == written {
        true => Ok(()),
        false => {
            Err(ReaderError::internal(path, format!("all of {expected} objects were written, not {written}")).into())
        }
    }
}

struct Visitor<'a, S> {
    sink: S,
    progress: &'a dyn Progress,
    /// The number of objects that the sink has stored.
    stored: u64,
    failure: Option<WriterError>,
}

impl<S: ObjectSink> WholeVisitor for Visitor<'_, S> {
    fn visit(&mut self, object: WholeObject<'_>) -> ControlFlow<()> {
        let stored = if self.progress.is_cancelled() { Err(WriterError::Interrupted) } else { self.sink.store(object) };
        self.progress.advance(1);
        match stored {
            Ok(()) => {
                self.stored += 1;
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// The contexts and buffers of one thread.
pub(super) struct ObjectEncoder<'a> {
    encoding: &'a Encoding,
    encoders: KindEncoders,
    /// Decodes the chunks that are streamed.
    decoder: ChunkDecoder,
    /// Decodes the new chunks.
    verifier: ChunkDecoder,
    again: Vec<u8>,
    progress: &'a dyn Progress,
}

impl<'a> ObjectEncoder<'a> {
    pub(super) fn new(source: &GitRepository, encoding: &'a Encoding, progress: &'a dyn Progress) -> Result<Self> {
        Ok(ObjectEncoder {
            encoding,
            encoders: encoding.encoders(),
            decoder: source.decoder(ZlibReader::Libdeflate)?,
            verifier: encoding.decoder(),
            again: Vec::new(),
            progress,
        })
    }

    /// Appends the chunk of `payload` to `out`. `object` is named in errors.
    pub(super) fn encode(&mut self, object: &ObjectName<'_>, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let length = self.encoders.for_kind(object.chunk_kind())?.encode(payload, out)? as u64;
        let chunk = out.get(start..).unwrap_or_default();
        let detail = match decode_to_vec(&mut self.verifier, chunk, payload.len() as u64, &mut self.again) {
            Ok(consumed) if consumed != length => format!("{consumed} of {length} stored bytes"),
            Ok(_) if self.again != payload => "same length, other content".to_owned(),
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        };
        Err(object.unfaithful(detail))
    }

    /// Frees the memory that a large object needed.
    pub(super) fn shrink(&mut self) {
        self.again.clear();
        self.again.shrink_to(LARGEST_KEPT);
    }

    /// Streams the payload of `large` into `sink`, with `header` in place of its own header. Returns the length of the
    /// new chunk, and what it has to decode to.
    pub(super) fn stream(
        &mut self,
        object: &ObjectName<'_>,
        large: LargeContent<'_>,
        header: &[u8],
        sink: &mut dyn Write,
    ) -> Result<StreamedChunk> {
        let LargeContent { stored, payload_len, header_len } = large;
        let mut encoder = self.encoding.streaming_encoder(object.chunk_kind())?;
        let source = SourceChunk::new(&mut self.decoder, stored, payload_len).with_header(header_len, header);
        let new_len = source.new_payload_len();
        let streamed = stream::convert(source, &mut encoder, sink, self.progress)?;
        // An error of the source explains an error of the encoder.
        streamed.consumed.map_err(|error| object.damaged(&error))?;
        Ok(StreamedChunk { len: streamed.encoded?, payload_len: new_len, digest: streamed.digest })
    }

    /// Decodes the chunk that `written` yields and compares it with what was `streamed`.
    pub(super) fn check_streamed(
        &mut self,
        object: &ObjectName<'_>,
        written: impl BufRead,
        streamed: &StreamedChunk,
    ) -> Result<()> {
        match stream::digest(&mut self.verifier, written, streamed.payload_len) {
            Ok((consumed, digest)) if consumed == streamed.len && digest == streamed.digest => Ok(()),
            Ok(_) => Err(object.unfaithful("same length, other content".to_owned())),
            Err(error) => Err(object.unfaithful(error.to_string())),
        }
    }
}

/// The name of an object in messages.
pub(super) struct ObjectName<'a> {
    pub(super) id: gix_hash::ObjectId,
    pub(super) kind: ObjectKind,
    pub(super) path: &'a Path,
}

impl ObjectName<'_> {
    fn chunk_kind(&self) -> ChunkKind {
        ChunkKind { object: self.kind, is_delta: false }
    }

    fn unfaithful(&self, detail: String) -> WriterError {
        WriterError::Unfaithful { path: self.path.to_owned(), what: format!("object {}", self.id), detail }
    }

    fn damaged(&self, error: &dyn std::fmt::Display) -> WriterError {
        let place = repackbench_reader::Place::Object(self.id);
        ReaderError::corrupt(self.path, place, "a sound chunk", error.to_string()).into()
    }
}

/// The parts of [`WholeContent::Large`].
pub(super) struct LargeContent<'a> {
    stored: Boxed<'a>,
    payload_len: u64,
    header_len: usize,
}

/// Stored bytes that may be read on another thread.
struct Boxed<'a>(&'a mut (dyn BufRead + Send));

impl Read for Boxed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl BufRead for Boxed<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

/// A chunk that was streamed to its destination.
pub(super) struct StreamedChunk {
    /// Its length in bytes.
    pub(super) len: u64,
    payload_len: u64,
    digest: gix_hash::ObjectId,
}

/// Splits `object` into its name and its content, which is either in memory or large.
pub(super) fn split_object<'a>(
    object: WholeObject<'a>,
) -> (ObjectName<'a>, std::result::Result<&'a [u8], LargeContent<'a>>) {
    let WholeObject { id, kind, path, content } = object;
    let name = ObjectName { id, kind, path };
    match content {
        WholeContent::Held(content) => (name, Ok(content)),
        WholeContent::Large { stored, payload_len, header_len } => {
            (name, Err(LargeContent { stored: Boxed(stored), payload_len, header_len }))
        }
    }
}

impl LargeContent<'_> {
    /// Length of the content in bytes.
    pub(super) fn content_len(&self) -> u64 {
        self.payload_len.saturating_sub(self.header_len as u64)
    }
}

/// The note about marks that are lost in a store without packs.
pub(super) fn promisor_note(source: &GitRepository) -> Option<String> {
    let note =
        "objects that a remote promised cannot be marked so outside of packs: git takes what is not here for missing";
    source.packs().iter().any(|pack| pack.promisor.is_some()).then(|| note.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        NoProgress,
        git::pack::test_repository::{git, packed},
    };

    /// Collects the ids of the objects.
    #[derive(Default)]
    struct Ids(Vec<gix_hash::ObjectId>);

    impl ObjectSink for Ids {
        fn store(&mut self, object: WholeObject<'_>) -> Result<()> {
            self.0.push(object.id);
            Ok(())
        }
    }

    #[test]
    fn objects_with_several_copies_are_stored_once() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        packed(folder);
        // A second pack with all of the objects, loose objects that are also in a pack, and one that is not.
        git(folder, &["commit", "-q", "--allow-empty", "-m", "in both"], None);
        git(folder, &["repack", "-aq"], None);
        std::fs::write(folder.join("more"), "a loose one").unwrap();
        git(folder, &["hash-object", "-w", "more"], None);
        let repository = GitRepository::open(folder).unwrap();
        assert!(repository.packs().len() > 1 && !repository.loose_objects().unwrap().is_empty());
        let listed = git(folder, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], None);
        for sinks in [1, 3] {
            let sinks = (0..sinks).map(|_| Ids::default()).collect();
            let stored = store_objects(&repository, sinks, "storing", &NoProgress).unwrap();
            let ids: Vec<String> = stored.iter().flat_map(|sink| &sink.0).map(ToString::to_string).collect();
            assert_eq!(ids.len(), listed.lines().count());
            assert_eq!(ids.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed.lines().collect());
        }
    }

    #[test]
    fn unwritten_objects_are_an_error() {
        check_all_written(Path::new("repo"), 3, 3).unwrap();
        for written in [2, 4] {
            let error = check_all_written(Path::new("repo"), 3, written).unwrap_err().to_string();
            assert!(
                error.contains(&format!("internal error: expected that all of 3 objects were written, not {written}")),
                "{error}"
            );
        }
    }
}
