//! Trees of files: one revision of a repository, with each file in a file of its own, compressed or flat.
//!
//! - [`write_files`] writes a tree and verifies it;
//! - [`RevisionFiles`] reads the content of a revision;
//! - [`in_place`] compresses files in place, like `gzip`;
//! - [`copy_interleaved`] copies several trees so that they are laid out alike on the disk.

mod copies;
pub mod in_place;
mod large;
mod revision;
mod tree_writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use repackbench_codec::{
    BLOCK_LEN, ChunkKind, CodecChoice, CodecSpec, Decoders, FileDecoder, FileEncoder, FileForm, ObjectKind, ZlibReader,
};
use repackbench_reader::{
    Repository,
    files::{DESCRIPTOR_FILE, Descriptor, FILES_FOLDER},
    threads,
};

pub use self::copies::{compressed_in_place, copy_interleaved, files_in_folder_order};
pub use self::revision::{FileVisitor, LeftOutFiles, RevisionFiles};
use self::{revision::FileBatch, tree_writer::TreeWriter};
use crate::{
    ConvertJob, JobControl, OutputPath, ProgressUnit, Result, WriterError, conversion::unchanged, convert::folders,
    default_output, pipeline::EncodedBatch,
};

/// The result of writing a tree of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFiles {
    /// The descriptor of the tree.
    pub descriptor: Descriptor,
    /// The time that reading, encoding, verifying and writing took.
    pub elapsed: Duration,
    /// The time that the final sync to disk took.
    pub sync: Duration,
    /// What is worth knowing about the source, one sentence each.
    pub notes: Vec<String>,
}

impl fmt::Display for WrittenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Descriptor { spec, form, revision, files, content_bytes, stored_bytes, symlinks, gitlinks, missing } =
            &self.descriptor;
        let ratio = if *content_bytes == 0 { 1.0 } else { *stored_bytes as f64 / *content_bytes as f64 };
        writeln!(f, "{files} files of revision {revision} under {spec}, as {}", form_in_words(*form))?;
        writeln!(f, "content: {content_bytes} bytes; files: {stored_bytes} bytes (ratio {ratio:.3})")?;
        let left_out = [
            (symlinks, "symbolic links"),
            (gitlinks, "commits of other repositories"),
            (missing, "files that the repository lacks"),
        ];
        for (count, what) in left_out.into_iter().filter(|(count, _)| **count > 0) {
            writeln!(f, "left out: {count} {what}")?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        writeln!(f, "took {:.2} s, and {:.2} s to sync", self.elapsed.as_secs_f64(), self.sync.as_secs_f64())
    }
}

fn form_in_words(form: FileForm) -> &'static str {
    match form {
        FileForm::Flat => "flat files",
        FileForm::Gzip => "gzip files",
        FileForm::Zstd => "zstd files",
        FileForm::Bzip2 => "bzip2 files",
        FileForm::Xz => "xz files",
        FileForm::Chunk => "chunks of repackbench",
    }
}

/// The codec choice for files of `source` under `spec`.
///
/// # Errors
/// The spec asks for something that a single file cannot have: a dictionary, or a base.
pub fn file_choice<'a>(source: &Repository, spec: &'a CodecSpec) -> Result<&'a CodecChoice> {
    let object = match source {
        Repository::Git(_) => ObjectKind::Blob,
        Repository::Hg(_) => ObjectKind::Filelog,
    };
    let choice = spec.choice(ChunkKind { object, is_delta: false });
    let refused = |why: &str| Err(WriterError::Spec { spec: spec.to_string(), why: why.to_owned() });
    if spec.uses_numbers() {
        return refused("a tree of files names no objects: expected a spec without ids=");
    }
    if choice.dictionary().is_some() {
        return refused("a tree of files has no dictionaries: expected a spec without dict=");
    }
    if choice.prefix() || choice.patch() {
        return refused("a tree of files has no deltas: expected a spec without prefix and patch");
    }
    Ok(choice)
}

/// The default output for files of `source` under `spec`: a sibling named after the codec, such as `repo.zlib-9.files`.
///
/// # Errors
/// As [`default_output`].
pub fn default_files_output(source: &Path, spec: &CodecSpec) -> Result<PathBuf> {
    default_output(source, spec, ".files")
}

/// Writes the files of a revision of `source` into a new folder, each under `spec`. `revision` is a name that the
/// version-control system resolves; the default is HEAD or the tip.
///
/// Every file is decoded again and compared before the folder gets its name. Symbolic links and gitlinks are counted
/// and left out. Of a file above [`BLOCK_LEN`], only the content is held in memory, neither a copy nor the encoded
/// bytes.
///
/// # Errors
/// See [`WriterError`]; [`ReaderError::Changed`](repackbench_reader::ReaderError::Changed) when the source changed
/// meanwhile. Nothing is left at the target then.
pub fn write_files(
    source: &Repository,
    spec: &CodecSpec,
    revision: Option<&str>,
    job: &ConvertJob<'_>,
) -> Result<(WrittenFiles, PathBuf)> {
    let choice = file_choice(source, spec)?;
    let output = OutputPath::create(job.target, job.force, &folders(source))?;
    let start = Instant::now();
    let descriptor = unchanged(
        || source.snapshot(),
        || {
            let files = RevisionFiles::open(source, revision)?;
            let writing = Writing { choice, control: job.control, out: output.building() };
            writing.write(files, spec)
        },
    )?;
    let elapsed = start.elapsed();
    let start = Instant::now();
    output.sync()?;
    let sync = start.elapsed();
    let path = output.publish()?;
    let notes = source.notes().to_vec();
    Ok((WrittenFiles { descriptor, elapsed, sync, notes }, path))
}

/// A tree that is being written.
struct Writing<'a> {
    choice: &'a CodecChoice,
    control: JobControl<'a>,
    out: &'a Path,
}

impl Writing<'_> {
    fn write(&self, mut files: RevisionFiles, spec: &CodecSpec) -> Result<Descriptor> {
        let form = FileForm::of(self.choice);
        let mut tree = TreeWriter::new(&self.out.join(FILES_FOLDER), form.suffix())?;
        let mut batch = FileBatch::default();
        self.control.progress.start("writing files", files.len() as u64, ProgressUnit::Items);
        files.for_each(&mut |path, content| {
            // Files are written in the order of paths, whatever their lengths.
            if !batch.has_room(content.len()) {
                self.flush(&mut batch, &mut tree)?;
            }
            if content.len() > BLOCK_LEN {
                large::write(self, path, content, &mut tree)?;
                self.control.progress.advance(1);
            } else {
                batch.push(path, content);
            }
            Ok(())
        })?;
        self.flush(&mut batch, &mut tree)?;
        self.control.progress.finish();
        let left_out = files.left_out();
        let descriptor = Descriptor {
            spec: spec.canonical(),
            form,
            revision: files.id().to_string(),
            files: tree.files(),
            content_bytes: files.content_bytes(),
            stored_bytes: tree.bytes(),
            symlinks: left_out.symlinks,
            gitlinks: left_out.gitlinks,
            missing: left_out.missing,
        };
        write_descriptor(self.out, &descriptor)?;
        Ok(descriptor)
    }

    /// Encodes the batch on all threads, and writes it in order.
    fn flush(&self, batch: &mut FileBatch, tree: &mut TreeWriter) -> Result<()> {
        if self.control.progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
        let shares = batch.shares(self.control.threads);
        let encoded = threads::map(self.control.threads, &shares, |share| self.encode(batch, share.clone()))?;
        for (share, encoded) in shares.iter().zip(&encoded) {
            for (number, stored) in share.clone().zip(encoded.chunks()) {
                tree.put(batch.path(number), stored)?;
            }
        }
        self.control.progress.advance(batch.len() as u64);
        batch.clear();
        Ok(())
    }

    fn encode(&self, batch: &FileBatch, share: std::ops::Range<usize>) -> Result<EncodedBatch> {
        let mut encoder = FileEncoder::new(self.choice)?;
        let mut decoder = FileDecoder::new(encoder.form(), Decoders::from(ZlibReader::Libdeflate));
        let mut encoded = EncodedBatch::default();
        let mut again = Vec::new();
        for number in share {
            let content = batch.content(number);
            let start = encoded.stored.len();
            let length = encoder.encode(content, &mut encoded.stored)?;
            encoded.lengths.push(length);
            again.clear();
            let stored = encoded.stored.get(start..).unwrap_or_default();
            let detail = match decoder.decode(stored, content.len(), &mut again) {
                Ok(_) if again == content => continue,
                Ok(_) => "different bytes".to_owned(),
                Err(error) => error.to_string(),
            };
            let what = String::from_utf8_lossy(batch.path(number)).into_owned();
            return Err(WriterError::Unfaithful { path: self.out.to_owned(), what, detail });
        }
        Ok(encoded)
    }
}

/// Writes the descriptor of the tree in `folder`, and replaces one that exists.
fn write_descriptor(folder: &Path, descriptor: &Descriptor) -> Result<()> {
    let path = folder.join(DESCRIPTOR_FILE);
    std::fs::write(&path, descriptor.to_text()).map_err(|e| WriterError::io("write", path, e))
}

#[cfg(test)]
mod tests;
