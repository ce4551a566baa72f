//! One B-tree in place of packs and loose objects: the value under an object's id is its kind, its length and its chunk.
//!
//! Objects are encoded in the order in which they are met, on all threads, into files without names; then they are sorted by
//! id, and the tree is written from left to right. So the same objects give the same bytes, whatever the threads did.

mod tree_writer;

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    os::unix::fs::FileExt,
    path::Path,
};

use gix_hash::ObjectId;
use repackbench_reader::{
    Place, ReaderError,
    dictionaries::DICTIONARY_FOLDER,
    git::{
        GitRepository,
        btree::{BTREE_FILE, BtreeFile, layout::LONGEST_VALUE, write_head},
        whole::WholeObject,
    },
};

use self::tree_writer::TreeWriter;
use super::{
    metadata,
    whole_objects::{self, LargeContent, ObjectEncoder, ObjectName, ObjectSink, parts, store_objects},
};
use crate::{Encoding, Progress, ProgressUnit, Result, WriterError};

/// How much is written or read at a time, in bytes.
const BUFFER: usize = 256 << 10;

/// Converts the repository `source` into the empty folder `out`: all objects as values of one B-tree, whole, encoded as `encoding` says of packed ones.
///
/// # Errors
/// See [`WriterError`].
pub(super) fn convert_parts(
    source: &GitRepository,
    encoding: &Encoding,
    out: &Path,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    // They are copied byte for byte, which would carry garbage along.
    source.references()?;
    let report = metadata::write_guarded_metadata(source, encoding.spec(), out)?;
    let mut notes = whole_objects::notes(source);
    notes.extend(report.left_aside);
    let objects = out.join("objects");
    let encoding = encoding.for_whole_objects();
    encoding.write_dictionaries(&objects.join("info").join(DICTIONARY_FOLDER))?;
    let sinks = (0..threads.max(1)).map(|_| ValueSink::new(source, &encoding, &objects, progress));
    let sinks = sinks.collect::<Result<Vec<_>>>()?;
    let sinks = store_objects(source, sinks, "encoding objects", progress)?;
    let (values, scratch) = finish(sinks, &objects)?;
    write_tree(source, &objects.join(BTREE_FILE), &values, &scratch, progress)?;
    Ok(notes)
}

/// A value that is ready to be written.
#[derive(Debug, Clone, Copy)]
struct Value {
    id: ObjectId,
    /// Which of the files without names holds it, where it starts there, and its length.
    file: usize,
    start: u64,
    len: u64,
}

/// One thread's contexts and buffers, and the values that it made.
struct ValueSink<'a> {
    encoder: ObjectEncoder<'a>,
    objects: &'a Path,
    file: BufWriter<File>,
    written: u64,
    values: Vec<Value>,
    value: Vec<u8>,
}

impl<'a> ValueSink<'a> {
    fn new(
        source: &GitRepository,
        encoding: &'a Encoding,
        objects: &'a Path,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let file = tempfile::tempfile_in(objects).map_err(|e| WriterError::io("make a file in", objects, e))?;
        Ok(ValueSink {
            encoder: ObjectEncoder::new(source, encoding, progress)?,
            objects,
            file: BufWriter::with_capacity(BUFFER, file),
            written: 0,
            values: Vec::new(),
            value: Vec::new(),
        })
    }

    fn cannot_write(&self) -> impl Fn(std::io::Error) -> WriterError + use<> {
        let folder = self.objects.to_owned();
        move |error| WriterError::io("write a file in", &folder, error)
    }

    fn store_large(&mut self, name: &ObjectName<'_>, large: LargeContent<'_>) -> Result<u64> {
        write_head(name.kind, large.content_len(), &mut self.value);
        self.file.write_all(&self.value).map_err(self.cannot_write())?;
        let head = self.value.len() as u64;
        let streamed = self.encoder.stream(name, large, &[], &mut self.file)?;
        self.file.flush().map_err(self.cannot_write())?;
        let chunk = Section { file: self.file.get_ref(), at: self.written.saturating_add(head), left: streamed.len };
        self.encoder.check_streamed(name, BufReader::with_capacity(BUFFER, chunk), &streamed)?;
        Ok(head.saturating_add(streamed.len))
    }
}

impl ObjectSink for ValueSink<'_> {
    fn store(&mut self, object: WholeObject<'_>) -> Result<()> {
        let (name, content) = parts(object);
        self.value.clear();
        let len = match content {
            Ok(content) => {
                write_head(name.kind, content.len() as u64, &mut self.value);
                self.encoder.encode(&name, content, &mut self.value)?;
                self.file.write_all(&self.value).map_err(self.cannot_write())?;
                self.value.len() as u64
            }
            Err(large) => self.store_large(&name, large)?,
        };
        if len > LONGEST_VALUE {
            let what = format!("a value of {len} bytes in a B-tree, which {} would be,", name.id);
            return Err(ReaderError::unsupported(name.path, what).into());
        }
        self.values.push(Value { id: name.id, file: 0, start: self.written, len });
        self.written = self.written.saturating_add(len);
        Ok(())
    }
}

/// What the sinks made: all values, sorted by id, and the files that hold them.
fn finish(sinks: Vec<ValueSink<'_>>, objects: &Path) -> Result<(Vec<Value>, Vec<File>)> {
    let (mut values, mut files) = (Vec::new(), Vec::new());
    for (number, sink) in sinks.into_iter().enumerate() {
        values.extend(sink.values.iter().map(|value| Value { file: number, ..*value }));
        let file = sink.file.into_inner().map_err(|e| WriterError::io("write a file in", objects, e.into_error()))?;
        files.push(file);
    }
    values.sort_unstable_by_key(|value| value.id);
    Ok((values, files))
}

fn write_tree(
    source: &GitRepository,
    path: &Path,
    values: &[Value],
    files: &[File],
    progress: &dyn Progress,
) -> Result<()> {
    progress.start("writing the B-tree", values.len() as u64, ProgressUnit::Items);
    let mut writer = TreeWriter::create(path, source.object_hash().len_in_bytes())?;
    for value in values {
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
        let Some(file) = files.get(value.file) else { continue };
        writer.add(value.id.as_bytes(), &mut Section { file, at: value.start, left: value.len }, value.len)?;
        progress.advance(1);
    }
    writer.finish()?;
    progress.finish();
    check_tree(source, path, values)
}

/// Reads the keys of the new tree again, and the lengths of its values.
fn check_tree(source: &GitRepository, path: &Path, values: &[Value]) -> Result<()> {
    let mut expected = values.iter();
    BtreeFile::open(path, source.object_hash())?.for_each(&mut |id, place| match expected.next() {
        Some(value) if (value.id, value.len) == (id, place.len) => Ok(()),
        value => {
            let expected = value.map_or("the end".to_owned(), |value| format!("{} of {} bytes", value.id, value.len));
            let place = Place::Offset(place.offset);
            Err(ReaderError::corrupt(path, place, expected, format!("{id}, as was not written")))
        }
    })?;
    Ok(())
}

/// A stretch of a file.
struct Section<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read_at(buffer.get_mut(..wanted).unwrap_or_default(), self.at)?;
        self.at = self.at.saturating_add(read as u64);
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}
