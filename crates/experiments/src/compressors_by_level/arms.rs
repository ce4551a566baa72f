//! The compressors at their levels.

use std::{
    fs,
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_codec::{CodecSpec, Decoders, FileDecoder, FileEncoder, FileForm};
use repackbench_pagecache::sync_file_system;
use repackbench_timing::clock::{Sample, measure};
use repackbench_writer::{NoProgress, files::in_place};

use super::corpus::Corpus;
use crate::{
    Context, ExperimentError,
    interleaved::{Runs, interleaved},
    samples::Samples,
};

/// The arms of the published table in its order, each with its codec here.
pub(super) const ARMS: [(&str, &str); 10] = [
    ("gzip 9", "zlib:9"),
    ("gzip 6", "zlib:6"),
    ("gzip 3", "zlib:3"),
    ("gzip 1", "zlib:1"),
    ("bzip2 9", "bzip2:9"),
    ("bzip2 6", "bzip2:6"),
    ("bzip2 3", "bzip2:3"),
    ("lzop 9", "lzo:9"),
    ("lzop 7", "lzo:7"),
    ("lzop 3", "lzo:3"),
];

/// Elapsed time: each file is read, compressed and written beside the old one, which is then removed.
pub(super) const COMPRESS: &str = "compress";
/// Elapsed time of the way back.
pub(super) const UNCOMPRESS: &str = "uncompress";
/// CPU time: all files are compressed from memory to memory.
pub(super) const COMPRESS_CPU: &str = "compress, CPU";
/// CPU time of the way back.
pub(super) const UNCOMPRESS_CPU: &str = "uncompress, CPU";
/// Elapsed time of writing the compressed files from memory.
pub(super) const WRITE: &str = "write";

/// The figures of one arm: sizes, and times in seconds, one for each run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Timings {
    /// The disk space of the compressed files.
    pub(super) allocated: Option<u64>,
    /// Their lengths.
    pub(super) stored: Option<u64>,
    /// Seconds of [`COMPRESS`] and the quantities that follow it.
    pub(super) samples: Samples,
}

impl Timings {
    /// Whether there is no complete run.
    pub(super) fn is_empty(&self) -> bool {
        self.samples.get(COMPRESS).is_empty()
    }
}

/// Times every arm on `corpus`, in a new folder at `folder`. Messages call the part `what`.
pub(super) fn time_compressors(
    context: &Context<'_>,
    what: &str,
    corpus: &Corpus,
    folder: &Path,
    wanted: u32,
    share: Option<Duration>,
) -> Result<(Vec<Timings>, Runs), ExperimentError> {
    let mut bench = Bench {
        context,
        corpus,
        root: folder.join("tree"),
        names: Vec::new(),
        made: folder.join("made"),
        buffers: Buffers::new(corpus),
    };
    bench.write_flat()?;
    let mut timings = vec![Timings::default(); ARMS.len()];
    let runs = interleaved(context, what, ARMS.len(), wanted, share, &mut |_, arm| {
        let (Some((_, spec)), Some(timings)) = (ARMS.get(arm), timings.get_mut(arm)) else { return Ok(()) };
        let coder = Coder::new(spec)?;
        bench.in_place(coder, timings)?;
        bench.in_memory(Coder::new(spec)?, timings)
    })?;
    timings.iter_mut().for_each(|timings| timings.samples.truncate(runs.done));
    fs::remove_dir_all(folder).map_err(|error| ExperimentError::io("remove", folder, error))?;
    Ok((timings, runs))
}

/// Both directions of one codec.
pub(super) struct Coder {
    form: FileForm,
    pub(super) encoder: FileEncoder,
    pub(super) decoder: FileDecoder,
}

impl Coder {
    pub(super) fn new(spec: &str) -> Result<Self, ExperimentError> {
        let refused = |why: String| ExperimentError::Refused { experiment: super::NAME, why };
        let spec: CodecSpec = spec.parse().map_err(|error| refused(format!("{spec}: {error}")))?;
        let encoder = FileEncoder::new(spec.default_choice()).map_err(|error| refused(error.to_string()))?;
        let form = encoder.form();
        Ok(Coder { form, encoder, decoder: FileDecoder::new(form, Decoders::default()) })
    }
}

/// The memory of the runs, allocated and touched before the clock starts.
struct Buffers {
    stored: Vec<u8>,
    lengths: Vec<usize>,
    content: Vec<u8>,
}

impl Buffers {
    /// The most bytes by which an incompressible file exceeds its content.
    const FRAME: usize = 1 << 10;

    fn new(corpus: &Corpus) -> Self {
        let touched = |len: usize| {
            let mut buffer = Vec::new();
            // Not zero: the kernel hands out zeroed pages without allocating them.
            buffer.resize(len, 1);
            buffer.clear();
            buffer
        };
        let lengths = corpus.files.iter().map(|(_, content)| content.len());
        Buffers {
            stored: touched(lengths.clone().map(|len| len + len / 64 + Self::FRAME).sum()),
            lengths: Vec::with_capacity(corpus.files.len()),
            content: touched(lengths.max().unwrap_or_default()),
        }
    }
}

/// A corpus in memory and on disk.
struct Bench<'a> {
    context: &'a Context<'a>,
    corpus: &'a Corpus,
    root: PathBuf,
    names: Vec<PathBuf>,
    /// The folder for compressed files that are written from memory.
    made: PathBuf,
    buffers: Buffers,
}

impl Bench<'_> {
    fn write_flat(&mut self) -> Result<(), ExperimentError> {
        for (name, content) in &self.corpus.files {
            let path = self.root.join(name);
            let folder = path.parent().unwrap_or(&self.root);
            fs::create_dir_all(folder).map_err(|error| ExperimentError::io("make", folder, error))?;
            fs::write(&path, content).map_err(|error| ExperimentError::io("write", &path, error))?;
            self.names.push(name.clone());
        }
        Ok(())
    }

    /// Compresses in place like the programs, and back.
    fn in_place(&self, mut coder: Coder, timings: &mut Timings) -> Result<(), ExperimentError> {
        let (root, names, clock) = (&self.root, &self.names, self.context.clock);
        let (stored, sample) =
            measure(clock, || in_place::compress(root, names, &mut coder.encoder, self.context.progress))
                .map_err(clock_error)?;
        timings.stored = Some(stored?);
        timings.samples.push(COMPRESS, sample.wall.as_secs_f64());
        // A file system may allocate blocks only when it writes files out.
        sync_file_system(root).map_err(|error| ExperimentError::io("write out", root, error))?;
        timings.allocated = Some(self.allocated(coder.form)?);
        let limit = self.corpus.files.iter().map(|(_, content)| content.len()).max().unwrap_or_default();
        let (content, sample) = measure(clock, || {
            // Stopping half-way would leave files of both kinds.
            in_place::uncompress(root, names, &mut coder.decoder, limit, &NoProgress)
        })
        .map_err(clock_error)?;
        let is_first = timings.samples.get(UNCOMPRESS).is_empty();
        if content? != self.corpus.bytes() || is_first && !self.is_as_it_was()? {
            let why = format!("{:?} files do not uncompress to what they were", coder.form.name());
            return Err(ExperimentError::Refused { experiment: super::NAME, why });
        }
        timings.samples.push(UNCOMPRESS, sample.wall.as_secs_f64());
        Ok(())
    }

    /// Checks that every file on the disk has the content of the corpus.
    fn is_as_it_was(&self) -> Result<bool, ExperimentError> {
        for (name, content) in &self.corpus.files {
            let path = self.root.join(name);
            if fs::read(&path).map_err(|error| ExperimentError::io("read", &path, error))? != *content {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The disk space of the compressed files.
    fn allocated(&self, form: FileForm) -> Result<u64, ExperimentError> {
        let mut sum = 0;
        for name in &self.names {
            let path = in_place::with_suffix(&self.root.join(name), form.suffix());
            let metadata = fs::metadata(&path).map_err(|error| ExperimentError::io("look up", &path, error))?;
            // `st_blocks` counts units of 512 bytes on every file system (stat(2)).
            sum += metadata.blocks() * 512;
        }
        Ok(sum)
    }

    /// Measures the CPU time of coding, and then the time of the file system.
    fn in_memory(&mut self, mut coder: Coder, timings: &mut Timings) -> Result<(), ExperimentError> {
        let (clock, files) = (self.context.clock, &self.corpus.files);
        let failed = |error| ExperimentError::from(repackbench_writer::WriterError::Codec(error));
        let Buffers { stored, lengths, content } = &mut self.buffers;
        stored.clear();
        lengths.clear();
        let (encoded, sample) = measure(clock, || {
            files
                .iter()
                .try_for_each(|(_, content)| coder.encoder.encode(content, stored).map(|length| lengths.push(length)))
        })
        .map_err(clock_error)?;
        encoded.map_err(failed)?;
        timings.samples.push(COMPRESS_CPU, cpu(sample));
        let mut is_same = true;
        let (decoded, sample) = measure(clock, || {
            pieces(stored, lengths).zip(files).try_for_each(|(stored, (_, expected))| {
                content.clear();
                let len = coder.decoder.decode(stored, expected.len(), content)?;
                is_same &= len == expected.len();
                Ok(())
            })
        })
        .map_err(clock_error)?;
        decoded.map_err(failed)?;
        if timings.samples.get(UNCOMPRESS_CPU).is_empty() {
            // Checked once, while no clock runs.
            for (stored, (_, expected)) in pieces(stored, lengths).zip(files) {
                content.clear();
                coder.decoder.decode(stored, expected.len(), content).map_err(failed)?;
                is_same &= content == expected;
            }
        }
        if !is_same {
            let why = format!("{:?} files do not decode to what they were", coder.form.name());
            return Err(ExperimentError::Refused { experiment: super::NAME, why });
        }
        timings.samples.push(UNCOMPRESS_CPU, cpu(sample));
        timings.samples.push(WRITE, self.write()?);
        Ok(())
    }

    /// Writes compressed files from memory into one folder and removes them; returns the elapsed time of writing.
    fn write(&self) -> Result<f64, ExperimentError> {
        let (made, Buffers { stored, lengths, .. }) = (&self.made, &self.buffers);
        fs::create_dir_all(made).map_err(|error| ExperimentError::io("make", made, error))?;
        let names: Vec<PathBuf> = (0..lengths.len()).map(|number| made.join(format!("file{number}"))).collect();
        let (written, sample) = measure(self.context.clock, || {
            names
                .iter()
                .zip(pieces(stored, lengths))
                .try_for_each(|(name, bytes)| fs::File::create_new(name).and_then(|mut file| file.write_all(bytes)))
        })
        .map_err(clock_error)?;
        written.map_err(|error| ExperimentError::io("write into", made, error))?;
        fs::remove_dir_all(made).map_err(|error| ExperimentError::io("remove", made, error))?;
        Ok(sample.wall.as_secs_f64())
    }
}

/// Consecutive pieces of `bytes` of these lengths.
fn pieces<'a>(bytes: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    lengths.iter().map(move |length| {
        let (piece, after) = rest.split_at_checked(*length).unwrap_or_default();
        rest = after;
        piece
    })
}

fn cpu(sample: Sample) -> f64 {
    (sample.user + sample.sys).as_secs_f64()
}

pub(super) fn clock_error(source: std::io::Error) -> ExperimentError {
    ExperimentError::io("read", "the system's clock", source)
}
