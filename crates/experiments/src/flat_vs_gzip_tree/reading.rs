//! Reading every file of a cold tree.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use repackbench_codec::{Decoders, FileDecoder};
use repackbench_pagecache::drop_all_caches;
use repackbench_timing::{
    arms::cold::make_cold,
    clock::{Clock, Sample, measure},
};
use walkdir::WalkDir;

use super::trees::{Amount, Tree};
use crate::ExperimentError;

/// The bytes that `cat` reads at a time.
const BUFFER: usize = 128 << 10;

/// The treatment of a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// None, as in `find . -type f | xargs cat > /dev/null`.
    Raw,
    /// Decoding.
    Decoded,
}

/// Makes the files below `folder` cold; with `drops_all` also the folders and inodes of the whole machine.
pub(super) fn chill(folder: &Path, drops_all: bool) -> Result<(), ExperimentError> {
    make_cold(folder)?;
    // Checking the pages loads the inodes, so these are dropped last.
    let failed = |error| ExperimentError::io("drop all caches for", folder, error);
    if drops_all && !drop_all_caches(folder).map_err(failed)? {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(())
}

/// Reads every file of the cold `tree` in the order in which its folders list them, as `find` does, and checks the amount.
pub(super) fn read_cold(tree: &Tree, how: How, clock: &dyn Clock) -> Result<Sample, ExperimentError> {
    let mut reader = Reader::new(tree, how);
    let (result, sample) = measure(clock, || reader.read_all()).map_err(clock_error)?;
    check(tree, how, result?)?;
    Ok(sample)
}

/// Fails if `found` is not the amount of the tree.
pub(super) fn check(tree: &Tree, how: How, found: Amount) -> Result<(), ExperimentError> {
    let expected = match how {
        How::Raw => Amount { content: tree.holds.stored, ..tree.holds },
        How::Decoded => tree.holds,
    };
    if found == expected {
        return Ok(());
    }
    let why = format!("{}: reading it came to {found:?}, where {expected:?} was expected", tree.label());
    Err(ExperimentError::Refused { experiment: super::NAME, why })
}

/// Buffers and contexts, allocated before the clock starts.
struct Reader {
    root: PathBuf,
    buffer: Vec<u8>,
    decoding: Option<Decoding>,
}

struct Decoding {
    decoder: FileDecoder,
    stored: Vec<u8>,
    content: Vec<u8>,
}

impl Reader {
    fn new(tree: &Tree, how: How) -> Self {
        let decoding = (how == How::Decoded).then(|| Decoding {
            decoder: FileDecoder::new(tree.form, Decoders::default()),
            stored: Vec::new(),
            content: Vec::new(),
        });
        Reader { root: tree.files(), buffer: vec![0; BUFFER], decoding }
    }

    fn read_all(&mut self) -> Result<Amount, ExperimentError> {
        let mut amount = Amount::default();
        for entry in WalkDir::new(&self.root) {
            let entry = entry.map_err(|error| ExperimentError::io("list", &self.root, error.into()))?;
            if entry.file_type().is_file() {
                self.read(entry.path(), &mut amount)
                    .map_err(|error| ExperimentError::io("read", entry.path(), error))?;
            }
        }
        Ok(amount)
    }

    fn read(&mut self, path: &Path, amount: &mut Amount) -> io::Result<()> {
        let mut file = File::open(path)?;
        let mut stored = 0;
        if let Some(decoding) = &mut self.decoding {
            decoding.stored.clear();
        }
        loop {
            let len = file.read(&mut self.buffer)?;
            let Some(piece) = self.buffer.get(..len).filter(|piece| !piece.is_empty()) else { break };
            stored += len as u64;
            match &mut self.decoding {
                Some(decoding) => decoding.stored.extend_from_slice(piece),
                None => drop(std::hint::black_box(piece)),
            }
        }
        amount.files += 1;
        amount.stored += stored;
        amount.content += match &mut self.decoding {
            None => stored,
            Some(Decoding { decoder, stored, content }) => {
                content.clear();
                // No limit: this program wrote these files itself.
                let len = decoder.decode(stored, usize::MAX, content).map_err(io::Error::other)?;
                std::hint::black_box(content.as_slice());
                len as u64
            }
        };
        Ok(())
    }
}

/// Runs the published command on the cold `tree`; `None` where a program is missing. Names end in a NUL byte here, as blanks in them would
/// break the command as published.
pub(super) fn read_by_command(tree: &Tree, clock: &dyn Clock) -> Result<Option<Sample>, ExperimentError> {
    let (is_read, sample) = measure_children(clock, || is_read_by_command(tree))?;
    Ok(is_read.then_some(sample))
}

/// Whether the programs exist and succeeded.
fn is_read_by_command(tree: &Tree) -> Result<bool, ExperimentError> {
    let mut find = Command::new("find");
    find.args([".", "-type", "f", "-print0"]).current_dir(tree.files()).stdin(Stdio::null()).stdout(Stdio::piped());
    let Some(mut find) = started(find)? else { return Ok(false) };
    let names = find.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut cat = Command::new("xargs");
    cat.args(["-0", "cat"]).current_dir(tree.files()).stdin(names).stdout(Stdio::null());
    let mut started_cat = started(cat);
    let is_read = match &mut started_cat {
        Ok(Some(cat)) => cat.wait().map(|status| status.success()),
        _ => Ok(false),
    };
    // find ends when its pipe closes.
    let is_listed = find.wait().map(|status| status.success());
    started_cat?;
    let wait_error = |error| ExperimentError::io("wait for find or xargs in", tree.files(), error);
    Ok(is_read.map_err(wait_error)? && is_listed.map_err(wait_error)?)
}

/// Does `work`; returns its elapsed time and the CPU time of the programs that it waited for.
pub(super) fn measure_children<T>(
    clock: &dyn Clock,
    work: impl FnOnce() -> Result<T, ExperimentError>,
) -> Result<(T, Sample), ExperimentError> {
    let (start, children) = (clock.read().map_err(clock_error)?, clock.read_children().map_err(clock_error)?);
    let done = work()?;
    let used = Sample::between(children, clock.read_children().map_err(clock_error)?);
    let elapsed = Sample::between(start, clock.read().map_err(clock_error)?);
    Ok((done, Sample { wall: elapsed.wall, ..used }))
}

/// Starts `command`; `None` where there is no such program.
fn started(mut command: Command) -> Result<Option<std::process::Child>, ExperimentError> {
    match command.spawn() {
        Ok(child) => Ok(Some(child)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ExperimentError::io("start", command.get_program(), error)),
    }
}

fn clock_error(source: io::Error) -> ExperimentError {
    ExperimentError::io("read", "the system's clock", source)
}
