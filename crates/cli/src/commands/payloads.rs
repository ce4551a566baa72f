//! `repackbench payloads`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_report::Block;
use repackbench_writer::payloads::{Exported, PayloadSelection, export_payloads, folder_of};
use serde::Serialize;

use crate::{
    failure::{Failure, print_note},
    options::{ByteSize, KindArguments, MemoryArguments, OUTPUT, QuietArgument, WHAT, located},
    output::listing::{Listing, ListingArguments, words},
    progress::{Bar, stop::set_target},
    repository::{note_output, open, print_notes},
};

/// Write payloads to files, for programs that measure codecs
///
/// A payload is what is compressed on its own: a whole object or a delta as it is in a pack, a loose
/// object with its header, a text or a delta of a revlog. Each becomes a file, such as
/// DIR/blob-delta/0012/0012345, a thousand to a folder. DIR/payloads.tsv lists them with kind, form,
/// payload bytes, stored bytes, source file and offset. Payloads above 64 MiB are left out.
///
/// zstd measures every file as a separate block, and reads the files of a folder with -r. lzbench does
/// the same with -j, which loads all files and still compresses each on its own:
///   zstd -b3 -r DIR/blob-delta
///   lzbench -j -r -ezstd,3 DIR/blob-delta
///
/// Examples:
///   repackbench payloads . --output /tmp/payloads
///   repackbench payloads . --output /tmp/trees --kind tree --every 10
///   repackbench payloads hgrepo --output /tmp/some --limit 16M
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PayloadsArguments {
    /// Repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Folder to write to: new or empty.
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    kinds: KindArguments,

    /// Only every N-th payload of each kind.
    ///
    /// Whole objects and deltas are counted separately.
    #[arg(long, help_heading = WHAT, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// At most BYTES payload bytes of each kind: bytes, or with K, M or G.
    ///
    /// Whole objects and deltas are counted separately.
    #[arg(long, help_heading = WHAT, value_name = "BYTES")]
    limit: Option<ByteSize>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    quiet: QuietArgument,

    #[command(flatten)]
    listing: ListingArguments,
}

impl PayloadsArguments {
    fn selection(&self) -> PayloadSelection {
        PayloadSelection {
            kinds: self.kinds.kinds.clone(),
            every: self.every,
            limit: self.limit.map(|ByteSize(bytes)| bytes),
        }
    }
}

/// The payloads of one kind, as JSON.
#[derive(Serialize)]
struct FolderLine<'a> {
    folder: &'a str,
    found: u64,
    written: u64,
    payload_bytes: u64,
    stored_bytes: u64,
}

pub(crate) fn run(arguments: &PayloadsArguments) -> Result<ExitCode, Failure> {
    let listing = arguments.listing.create()?;
    arguments.memory.ceiling(1).set();
    let repository = open(&arguments.repository)?;
    print_notes(&repository, arguments.quiet.quiet);
    let bar = Bar::new(arguments.quiet.quiet);
    set_target(&arguments.output, true);
    let _note = note_output(&arguments.output);
    let (exported, path) = export_payloads(&repository, &arguments.selection(), &arguments.output, &bar)?;
    summarise(&exported, &path, listing, arguments.quiet.quiet)?;
    Ok(ExitCode::SUCCESS)
}

fn summarise(exported: &Exported, path: &Path, mut listing: Listing, is_quiet: bool) -> Result<(), Failure> {
    if exported.left_out.payloads > 0 && !is_quiet {
        let (payloads, bytes) = (exported.left_out.payloads, exported.left_out.bytes);
        print_note(format!("left out: {payloads} payloads above 64 MiB, {bytes} bytes"));
    }
    let mut rows = Vec::new();
    let (mut found, mut payloads, mut bytes, mut stored) = (0, 0, 0, 0);
    for (kind, written) in &exported.kinds {
        let folder = folder_of(*kind);
        let line = FolderLine {
            folder: &folder,
            found: written.found,
            written: written.payloads,
            payload_bytes: written.payload_bytes,
            stored_bytes: written.stored_bytes,
        };
        listing.line("payload-folder", line)?;
        let numbers = [written.found, written.payloads, written.payload_bytes, written.stored_bytes];
        rows.push([folder].into_iter().chain(numbers.map(|number| number.to_string())).collect());
        (found, payloads) = (found + written.found, payloads + written.payloads);
        (bytes, stored) = (bytes + written.payload_bytes, stored + written.stored_bytes);
    }
    rows.push(vec!["total".into(), found.to_string(), payloads.to_string(), bytes.to_string(), stored.to_string()]);
    let mut table = words(&["folder", "found", "written", "payload bytes", "stored bytes"], &rows);
    table.blocks.push(Block::Notes(vec![path.display().to_string()]));
    match is_quiet {
        true => listing.tables.write_markdown(&[table]),
        false => listing.write(&[table]),
    }
}
