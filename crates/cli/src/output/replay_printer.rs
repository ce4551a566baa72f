//! What a replayed workload sees, in the format of the git command that does the same.

use std::io::{self, BufWriter, StdoutLock, Write};

use gix_hash::oid;
use repackbench_reader::{Change, FileVersion, ObjectKind};
use repackbench_timing::workloads::{Observer, WorkloadSpec, put_quoted};

use crate::failure::{Failure, say};

type Out = BufWriter<StdoutLock<'static>>;

/// Prints what a workload sees.
pub(crate) struct ReplayPrinter {
    out: Out,
    prints_commits: bool,
    prints_changes: bool,
    /// How many objects were counted, if the workload counts.
    counted: Option<u64>,
    failed: Option<io::Error>,
    missing: u64,
}

impl ReplayPrinter {
    /// A printer for what `workload` sees.
    pub(crate) fn new(workload: &WorkloadSpec) -> Self {
        ReplayPrinter {
            out: BufWriter::new(io::stdout().lock()),
            prints_commits: matches!(workload, WorkloadSpec::RawDiff | WorkloadSpec::PatchDiff | WorkloadSpec::WebFile),
            prints_changes: matches!(workload, WorkloadSpec::RawDiff | WorkloadSpec::WebFile),
            counted: (*workload == WorkloadSpec::TraverseCount).then_some(0),
            failed: None,
            missing: 0,
        }
    }

    fn line(&mut self, write: impl FnOnce(&mut Out) -> io::Result<()>) {
        if self.failed.is_some() {
            return;
        }
        self.failed = write(&mut self.out).err();
        if self.failed.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // A reader such as `head` has seen enough, and a workload cannot be stopped. There is nothing to clean up,
            // as workloads that write files print no lines.
            std::process::exit(0);
        }
    }

    /// Prints how many objects were counted, flushes the output, and prints the number of missing objects.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if let Some(count) = self.counted {
            self.line(|out| writeln!(out, "{count}"));
        }
        self.line(|out| out.flush());
        if self.missing > 0 {
            say(format_args!("repackbench: {} objects are missing and were left out", self.missing));
        }
        match self.failed {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

impl Observer for ReplayPrinter {
    fn object(&mut self, _kind: ObjectKind, id: &oid) {
        self.line(|out| writeln!(out, "{id}"));
    }

    fn counted(&mut self, _kind: ObjectKind) {
        self.counted.iter_mut().for_each(|count| *count += 1);
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

/// The letter of git for a change: added, deleted, type changed or modified.
fn status(change: &Change) -> char {
    /// The bits of a mode for the type of a file.
    const TYPE: u32 = 0o170_000;
    match (&change.old, &change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(old), Some(new)) if old.mode.bits() & TYPE != new.mode.bits() & TYPE => 'T',
        _ => 'M',
    }
}
