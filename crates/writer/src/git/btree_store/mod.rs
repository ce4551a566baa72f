//! Writes one B-tree in place of packs and loose objects. The value under an object's id is its kind, its length and
//! its chunk.
//!
//! All threads encode objects into anonymous files, in any order. Then the objects are sorted by id, and the tree is
//! written from left to right. So the same objects give the same bytes, whatever the threads did.
//!
//! Each chunk is decoded and compared at once, and its checksum is kept. When the tree is complete, it is read once
//! from the first key to the last, and each value must have that checksum. So no copy on the way has changed it.

mod tree_writer;

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};

use crc32fast::Hasher;
use gix_hash::{Kind, ObjectId};
use repackbench_reader::{
    FileSection, Place, ReaderError,
    git::{
        GitRepository,
        btree::{BtreeFile, layout::LONGEST_VALUE, write_head},
        repository::BTREE_FILE,
        whole::WholeObject,
    },
};

use self::tree_writer::TreeWriter;
use super::whole_objects::{
    LARGEST_KEPT, LargeContent, ObjectEncoder, ObjectName, ObjectSink, split_object, store_objects,
};
use crate::{Encoding, JobControl, Progress, ProgressUnit, Result, StoreKind, WriterError};

/// The number of bytes that are written or read at a time.
const BUFFER: usize = 256 << 10;

/// Converts the repository `source` into the empty folder `out`. All objects become whole values of one B-tree, under
/// the encoding of packed objects.
///
/// # Errors
/// See [`WriterError`].
pub(super) fn convert_parts(
    source: &GitRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    let (objects, notes) = super::begin(source, encoding, StoreKind::Btree, out)?;
    let progress = control.progress;
    let sinks = (0..control.threads.max(1)).map(|_| ValueSink::new(source, encoding, &objects, progress));
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
    /// The number of the anonymous file that holds it, its start there, and its length.
    file: usize,
    start: u64,
    len: u64,
    /// The CRC-32 of the bytes that were decoded and compared.
    crc: u32,
}

/// The contexts and buffers of one thread, and the values that it made.
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
        let file = tempfile::tempfile_in(objects).map_err(|e| WriterError::io("create a file in", objects, e))?;
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

    /// Writes the value of an object whose content is not in memory. Returns its length and its CRC-32.
    fn store_large(&mut self, name: &ObjectName<'_>, large: LargeContent<'_>) -> Result<(u64, u32)> {
        write_head(name.kind, large.content_len(), &mut self.value);
        self.file.write_all(&self.value).map_err(self.cannot_write())?;
        let head = self.value.len() as u64;
        let streamed = self.encoder.stream(name, large, &[], &mut self.file)?;
        self.file.flush().map_err(self.cannot_write())?;
        let mut chunk = Summed {
            reader: FileSection::new(self.file.get_ref(), self.written.saturating_add(head), streamed.len),
            crc: Hasher::new(),
        };
        chunk.crc.update(&self.value);
        self.encoder.check_streamed(name, BufReader::with_capacity(BUFFER, &mut chunk), &streamed)?;
        Ok((head.saturating_add(streamed.len), chunk.crc.finalize()))
    }
}

impl ObjectSink for ValueSink<'_> {
    fn store(&mut self, object: WholeObject<'_>) -> Result<()> {
        let (name, content) = split_object(object);
        self.value.clear();
        let (len, crc) = match content {
            Ok(content) => {
                write_head(name.kind, content.len() as u64, &mut self.value);
                self.encoder.encode(&name, content, &mut self.value)?;
                self.file.write_all(&self.value).map_err(self.cannot_write())?;
                let done = (self.value.len() as u64, crc32fast::hash(&self.value));
                self.encoder.shrink();
                self.value.clear();
                self.value.shrink_to(LARGEST_KEPT);
                done
            }
            Err(large) => self.store_large(&name, large)?,
        };
        if len > LONGEST_VALUE {
            let what = format!("a B-tree value of {len} bytes for {}", name.id);
            return Err(ReaderError::unsupported(name.path, what).into());
        }
        self.values.push(Value { id: name.id, file: 0, start: self.written, len, crc });
        self.written = self.written.saturating_add(len);
        Ok(())
    }
}

/// The values of all sinks, sorted by id, and the files that hold them.
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
        let Some(file) = files.get(value.file) else {
            return Err(
                ReaderError::internal(path, format!("file {} is not one of {}", value.file, files.len())).into()
            );
        };
        writer.add(value.id.as_bytes(), &mut FileSection::new(file, value.start, value.len), value.len)?;
        progress.advance(1);
    }
    writer.finish()?;
    progress.finish();
    check_tree(path, source.object_hash(), values, progress)
}

/// Reads the new tree again, and checks that it holds every key with the bytes that were decoded and compared.
fn check_tree(path: &Path, hash: Kind, values: &[Value], progress: &dyn Progress) -> Result<()> {
    progress.start("checking the B-tree", values.len() as u64, ProgressUnit::Items);
    let mut expected = values.iter();
    let mut piece = Vec::new();
    let tree = BtreeFile::open(path, hash)?;
    let checked = tree.for_each(&mut |id, place| {
        let corrupt = |expected, found| Err(ReaderError::corrupt(path, Place::Offset(place.offset), expected, found));
        let value = match expected.next() {
            Some(value) if (value.id, value.len) == (id, place.len) => value,
            Some(value) => {
                return corrupt(format!("{} of {} bytes", value.id, value.len), format!("{id}, which was not written"));
            }
            None => return corrupt("the end".to_owned(), format!("{id}, which was not written")),
        };
        if progress.is_cancelled() {
            return Err(ReaderError::io("check", path, std::io::ErrorKind::Interrupted.into()));
        }
        let mut crc = Hasher::new();
        tree.read_in_pieces(&place, &mut piece, &mut |bytes| crc.update(bytes))?;
        let found = crc.finalize();
        if found != value.crc {
            return corrupt(format!("{id} with the CRC-32 {:08x}", value.crc), format!("{found:08x}"));
        }
        progress.advance(1);
        Ok(())
    });
    if progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    checked?;
    if let Some(Value { id, .. }) = expected.next() {
        return Err(ReaderError::corrupt(path, Place::Whole, id.to_string(), "the end").into());
    }
    progress.finish();
    Ok(())
}

/// Computes the CRC-32 of the bytes that are read.
struct Summed<R> {
    reader: R,
    crc: Hasher,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.crc.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::NoProgress;

    /// A tree with a value in a leaf, one on an overflow page and one on several. Returns the values and their offsets
    /// in the file.
    fn tree(path: &Path) -> (Vec<Value>, Vec<usize>) {
        let mut writer = TreeWriter::create(path, Kind::Sha1.len_in_bytes()).unwrap();
        let mut values = Vec::new();
        for (number, len) in [(1, 100), (2, 3_000), (3, 300_000)] {
            let id = ObjectId::from_bytes_or_panic(&[number; 20]);
            let value = vec![number; len];
            writer.add(id.as_bytes(), &mut value.as_slice(), len as u64).unwrap();
            values.push(Value { id, file: 0, start: 0, len: len as u64, crc: crc32fast::hash(&value) });
        }
        writer.finish().unwrap();
        let mut places = Vec::new();
        BtreeFile::open(path, Kind::Sha1)
            .unwrap()
            .for_each(&mut |_, place| {
                places.push(usize::try_from(place.offset).unwrap());
                Ok(())
            })
            .unwrap();
        (values, places)
    }

    #[test]
    fn changed_missing_and_extra_values_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree");
        let (values, places) = tree(&path);
        let check = |values: &[Value]| check_tree(&path, Kind::Sha1, values, &NoProgress).map_err(|e| e.to_string());
        check(&values).unwrap();
        let good = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for (value, start) in values.iter().zip(places) {
            for at in [start, start + usize::try_from(value.len).unwrap() - 1] {
                let mut damaged = good.clone();
                damaged[at] ^= 1;
                fs::write(&path, damaged).unwrap();
                let error = check(&values).unwrap_err();
                assert!(error.contains(&format!("expected {} with the CRC-32 {:08x}", value.id, value.crc)), "{error}");
            }
        }
        fs::write(&path, &good).unwrap();
        check(&values).unwrap();
        let error = check(&values[..2]).unwrap_err();
        assert!(error.contains("expected the end"), "{error}");
        let error = check(&values[1..]).unwrap_err();
        assert!(error.contains("which was not written"), "{error}");
        let one_more = Value { id: ObjectId::from_bytes_or_panic(&[4; 20]), ..values[0] };
        let error = check(&[&values[..], &[one_more]].concat()).unwrap_err();
        assert!(error.contains(&format!("expected {}, found the end", one_more.id)), "{error}");
    }

    #[test]
    fn check_of_the_tree_can_be_cancelled() {
        struct Cancelled;
        impl Progress for Cancelled {
            fn start(&self, _: &str, _: u64, _: ProgressUnit) {}
            fn advance(&self, _: u64) {}
            fn finish(&self) {}
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree");
        let (values, _) = tree(&path);
        let stopped = check_tree(&path, Kind::Sha1, &values, &Cancelled);
        assert!(matches!(stopped, Err(WriterError::Interrupted)), "{stopped:?}");
    }
}
