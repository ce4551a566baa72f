//! `repackbench replay`.

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;
use gix_hash::oid;
use repackbench_codec::{DecoderChoice, Decoders, SharedFormat};
use repackbench_reader::{Change, Chunk, FileVersion, LeftOut, ObjectKind, ReaderError, Repository};
use repackbench_timing::workloads::{Observer, VariantPlace, WorkloadSpec, put_quoted};

use super::{open, print};
use crate::{
    failure::{Failure, USAGE},
    options::{MemoryArguments, RangeArguments, located},
};

/// Run one workload once and print what it saw, to be held against git's or hg's own output.
///
/// traverse prints object ids, as `git rev-list --objects --all --no-object-names` does; diff:raw prints what
/// `git log --raw --no-abbrev --no-renames --format='commit %H'` does, but for blank lines; diff:pickaxe=STRING prints
/// the ids that `git log -SSTRING --no-renames --format=%H` does; diff:patch prints patches, as
/// `git log -p --no-renames --full-index --format='commit %H'` does but for blank lines; checkout writes files into the
/// folder that --into names. sizes prints what `git cat-file --batch-check --batch-all-objects` does, cat-all what
/// `git cat-file --batch --batch-all-objects --unordered` does, with packs in an order of its own. encode, ingest and serve print
/// counts; ingest writes into the folder that --into names, serve:zlib and serve:push write into the file that it names a pack, which
/// `git index-pack --stdin` takes (with `--fix-thin` where --commits is given), or a bundle, which `hg unbundle` takes.
///
/// Of a Mercurial repository they print the same in the same form, with nodes for ids: traverse the nodes of all changesets,
/// manifests and file revisions, as `hg debugindex` lists them; diff:raw what `hg manifest --debug` tells to differ between
/// a changeset and its first parent; diff:pickaxe what counting in `hg cat` finds; diff:patch what turns the one's files
/// into the other's; checkout what `hg archive` writes.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// The workload.
    #[arg(long, value_name = "W")]
    pub(crate) workload: WorkloadSpec,

    /// The implementation that reads a format, such as zlib=libdeflate, deflate=zlib-rs or lz4=lz4_flex; may be given once for each format.
    #[arg(long = "decoder", value_name = "FORMAT=NAME")]
    pub(crate) decoders: Vec<DecoderChoice>,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// The empty or new folder that checkout or ingest writes into, or the new file that serve does.
    #[arg(long, value_name = "PATH", required_if_eq("workload", "checkout"))]
    pub(crate) into: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,
}

pub(crate) fn run(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(1).set();
    let repository = open(&arguments.repository)?;
    let decoders = decoders(&repository, &arguments.decoders)?;
    let mut history = repository.history(decoders)?;
    let range = arguments.range.range(repository.default_revision());
    let mut workload = arguments.workload.build(&range, arguments.into.clone());
    let mut printer = Printer {
        out: BufWriter::new(std::io::stdout().lock()),
        prints_commits: matches!(arguments.workload, WorkloadSpec::RawDiff | WorkloadSpec::PatchDiff),
        prints_changes: matches!(arguments.workload, WorkloadSpec::RawDiff),
        failed: None,
        missing: 0,
    };
    workload.prepare(&VariantPlace::of(&repository, decoders))?;
    workload.run(history.as_mut(), &mut printer)?;
    let extra = workload.extra();
    workload.clean_up()?;
    printer.finish()?;
    print(&extra.iter().map(|(name, count)| format!("{name}: {count}\n")).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// Who reads: stock git's and hg's own implementations, but for what the user chose.
fn decoders(repository: &Repository, choices: &[DecoderChoice]) -> Result<Decoders, Failure> {
    let mut decoders = Decoders::default();
    for (number, choice) in choices.iter().enumerate() {
        if choices.iter().take(number).any(|earlier| earlier.format() == choice.format()) {
            let message = format!("{choice}: a decoder for {} was named before", choice.format().description());
            return Err(Failure::new(USAGE, message));
        }
        if !has_format(repository, choice.format())? {
            let chunks = choice.format().description();
            let message = format!("{choice}: the repository has no {chunks} without a dictionary");
            return Err(Failure::new(USAGE, message));
        }
        decoders = choice.apply(decoders);
    }
    Ok(decoders)
}

/// Whether some chunk of `repository` has `format`. Stops at the first.
fn has_format(repository: &Repository, format: SharedFormat) -> Result<bool, ReaderError> {
    /// Why the search ended.
    enum End {
        Found,
        Failed(ReaderError),
    }
    impl From<ReaderError> for End {
        fn from(error: ReaderError) -> Self {
            End::Failed(error)
        }
    }
    let mut wanted = |chunk: &Chunk<'_>| repository.shared_format(chunk) == Some(format);
    match repository.for_each_payload(Decoders::default(), &mut wanted, &mut |_, _| Err(End::Found)) {
        Ok(LeftOut { payloads, .. }) => Ok(payloads > 0),
        Err(End::Found) => Ok(true),
        Err(End::Failed(error)) => Err(error),
    }
}

/// Prints what a workload sees in the words of the git command that does the same.
struct Printer<W> {
    out: W,
    prints_commits: bool,
    prints_changes: bool,
    failed: Option<std::io::Error>,
    missing: u64,
}

impl<W: Write> Printer<W> {
    fn line(&mut self, write: impl FnOnce(&mut W) -> std::io::Result<()>) {
        if self.failed.is_some() {
            return;
        }
        self.failed = write(&mut self.out).err();
        if self.failed.as_ref().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) {
            // A reader such as `head` has seen enough, and a workload cannot be told to stop. Nothing is left to clean up: the
            // one that writes files prints no lines.
            std::process::exit(0);
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.line(|out| out.flush());
        if self.missing > 0 {
            eprintln!("repackbench: {} objects are missing and were left out", self.missing);
        }
        match self.failed {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

impl<W: Write> Observer for Printer<W> {
    fn object(&mut self, _kind: ObjectKind, id: &oid) {
        self.line(|out| writeln!(out, "{id}"));
    }

    fn sized(&mut self, kind: ObjectKind, id: &oid, size: u64) {
        self.line(|out| writeln!(out, "{id} {kind} {size}"));
    }

    fn whole(&mut self, kind: ObjectKind, id: &oid, content: &[u8]) {
        self.line(|out| {
            writeln!(out, "{id} {kind} {}", content.len())?;
            out.write_all(content)?;
            out.write_all(b"\n")
        });
    }

    fn start_large(&mut self, kind: ObjectKind, id: &oid, len: u64) {
        self.line(|out| writeln!(out, "{id} {kind} {len}"));
    }

    fn large_piece(&mut self, piece: &[u8]) {
        self.line(|out| out.write_all(piece));
    }

    fn end_large(&mut self) {
        self.line(|out| out.write_all(b"\n"));
    }

    fn commit(&mut self, id: &oid) {
        if self.prints_commits {
            self.line(|out| writeln!(out, "commit {id}"));
        }
    }

    fn change(&mut self, path: &[u8], change: &Change) {
        if !self.prints_changes {
            return;
        }
        self.line(|out| {
            let (old, new) = (change.old.as_ref(), change.new.as_ref());
            let Some(hash) = old.or(new).map(|version| version.id.kind()) else { return Ok(()) };
            let mode = |version: Option<&FileVersion>| version.map_or(0, |version| version.mode.bits());
            let id = |version: Option<&FileVersion>| version.map_or_else(|| hash.null(), |version| version.id);
            write!(out, ":{:06o} {:06o} {} {} {}\t", mode(old), mode(new), id(old), id(new), status(change))?;
            let mut quoted = Vec::new();
            put_quoted(&mut quoted, b"", path);
            out.write_all(&quoted)?;
            out.write_all(b"\n")
        });
    }

    fn patch(&mut self, _path: &[u8], _change: &Change, patch: &[u8]) {
        self.line(|out| out.write_all(patch));
    }

    fn hit(&mut self, id: &oid) {
        self.line(|out| writeln!(out, "{id}"));
    }

    fn missing(&mut self, objects: u64) {
        self.missing = objects;
    }
}

/// git's letter for a change: added, deleted, type changed or modified.
fn status(change: &Change) -> char {
    /// The part of a mode that says what a file is, without its permissions.
    const TYPE: u32 = 0o170_000;
    match (&change.old, &change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(old), Some(new)) if old.mode.bits() & TYPE != new.mode.bits() & TYPE => 'T',
        _ => 'M',
    }
}
