//! Writes every object into a file of its own, like a repository that was never packed.

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use gix_hash::ObjectId;
use repackbench_reader::git::{GitRepository, whole::WholeObject};

use super::whole_objects::{
    LARGEST_KEPT, LargeContent, ObjectEncoder, ObjectName, ObjectSink, split_object, store_objects,
};
use crate::{Encoding, JobControl, Progress, Result, StoreKind, WriterError, new_file::create_read_only};

/// The number of bytes of a large new object that are read at a time to verify it.
const BUFFER: usize = 128 << 10;

/// Converts the repository `source` into the empty folder `out`. Each object becomes a whole loose object under the
/// encoding of loose objects.
///
/// # Errors
/// See [`WriterError`].
pub(super) fn convert_parts(
    source: &GitRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    let (objects, notes) = super::begin(source, encoding, StoreKind::Loose, out)?;
    let encoding = encoding.for_loose_objects();
    let folders = [const { AtomicBool::new(false) }; 256];
    let sink = |_| LooseSink::new(source, &encoding, &objects, &folders, control.progress);
    let sinks = (0..control.threads.max(1)).map(sink).collect::<Result<Vec<_>>>()?;
    store_objects(source, sinks, "writing loose objects", control.progress)?;
    Ok(notes)
}

/// The contexts and buffers of one thread.
struct LooseSink<'a> {
    encoder: ObjectEncoder<'a>,
    objects: &'a Path,
    /// Which of the folders `00` to `ff` exist.
    folders: &'a [AtomicBool; 256],
    payload: Vec<u8>,
    encoded: Vec<u8>,
}

impl<'a> LooseSink<'a> {
    fn new(
        source: &GitRepository,
        encoding: &'a Encoding,
        objects: &'a Path,
        folders: &'a [AtomicBool; 256],
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let encoder = ObjectEncoder::new(source, encoding, progress)?;
        Ok(LooseSink { encoder, objects, folders, payload: Vec::new(), encoded: Vec::new() })
    }

    /// The path of the object `id`. Creates its folder if it does not exist.
    fn target(&self, id: &ObjectId) -> Result<PathBuf> {
        let hex = id.to_hex().to_string();
        let (fan_out, rest) = hex.split_at(2);
        let mut path = self.objects.join(fan_out);
        let folder = self.folders.get(usize::from(id.first_byte()));
        if folder.is_none_or(|is_there| !is_there.load(Ordering::Acquire)) {
            fs::create_dir_all(&path).map_err(|e| WriterError::io("create", &path, e))?;
            folder.into_iter().for_each(|folder| folder.store(true, Ordering::Release));
        }
        path.push(rest);
        Ok(path)
    }

    fn store_held(&mut self, name: &ObjectName<'_>, content: &[u8], target: &Path) -> Result<()> {
        self.payload.clear();
        write_header(name, content.len() as u64, &mut self.payload);
        self.payload.extend_from_slice(content);
        self.encoded.clear();
        self.encoder.encode(name, &self.payload, &mut self.encoded)?;
        create_read_only(target)?.write_all(&self.encoded).map_err(|e| WriterError::io("write", target, e))?;
        self.encoder.shrink();
        for buffer in [&mut self.payload, &mut self.encoded] {
            buffer.clear();
            buffer.shrink_to(LARGEST_KEPT);
        }
        Ok(())
    }

    fn store_large(&mut self, name: &ObjectName<'_>, large: LargeContent<'_>, target: &Path) -> Result<()> {
        self.payload.clear();
        write_header(name, large.content_len(), &mut self.payload);
        let mut file = BufWriter::new(create_read_only(target)?);
        let streamed = self.encoder.stream(name, large, &self.payload, &mut file)?;
        file.flush().map_err(|e| WriterError::io("write", target, e))?;
        let written = File::open(target).map_err(|e| WriterError::io("open", target, e))?;
        self.encoder.check_streamed(name, BufReader::with_capacity(BUFFER, written), &streamed)
    }
}

impl ObjectSink for LooseSink<'_> {
    fn store(&mut self, object: WholeObject<'_>) -> Result<()> {
        let (name, content) = split_object(object);
        let target = self.target(&name.id)?;
        match content {
            Ok(content) => self.store_held(&name, content, &target),
            Err(large) => self.store_large(&name, large, &target),
        }
    }
}

/// Appends the header of a loose object of `len` bytes.
fn write_header(name: &ObjectName<'_>, len: u64, payload: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = write!(payload, "{} {len}\0", name.kind);
}
