//! `repackbench cache`.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Args, Subcommand};
use repackbench_writer::{
    cache::{Cache, CachedCopies, CachedVariant, PrunePolicy},
    remove_leftovers,
};
use serde::Serialize;

use crate::{
    failure::Failure,
    options::WHAT,
    output::{
        listing::{ListingArguments, words},
        print,
    },
};

/// List or remove the variants that bench keeps
///
/// Leftovers of killed runs are removed, too: copies for cold runs, unfinished output, temporary files.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List cached variants with size, last use, codec and source, and copies for cold runs.
    List(ListingArguments),
    Prune(PruneArguments),
}

/// Remove cached variants that no process is using
///
/// Removes all of them, unless an option keeps some. Leftovers of killed runs are always removed: copies, unfinished output in any folder, and temporary files.
#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// Remove only variants that have not been used for DAYS days.
    #[arg(long, help_heading = WHAT, value_name = "DAYS", conflicts_with = "keep_bytes")]
    pub(crate) unused_for: Option<u64>,

    /// Remove the least recently used variants until the others take at most BYTES bytes.
    #[arg(long, help_heading = WHAT, value_name = "BYTES")]
    pub(crate) keep_bytes: Option<u64>,
}

const DAY: u64 = 24 * 60 * 60;

pub(crate) fn run(arguments: &CacheArguments) -> Result<ExitCode, Failure> {
    let cache = Cache::open(None)?;
    match &arguments.command {
        CacheCommand::List(arguments) => list(&cache, arguments)?,
        CacheCommand::Prune(arguments) => prune(&cache, arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A cached variant, as JSON.
#[derive(Serialize)]
struct VariantLine<'a> {
    bytes: u64,
    last_used_unix_s: u64,
    codec: &'a str,
    source: &'a str,
}

/// Copies for cold runs, as JSON.
#[derive(Serialize)]
struct CopiesLine {
    bytes: u64,
    in_use: bool,
}

fn list(cache: &Cache, arguments: &ListingArguments) -> Result<(), Failure> {
    let mut listing = arguments.create()?;
    let (variants, copies) = (cache.list()?, cache.cold_copies()?);
    for CachedVariant { bytes, last_used, spec, source, .. } in &variants {
        let line = VariantLine { bytes: *bytes, last_used_unix_s: *last_used, codec: spec, source };
        listing.line("cached-variant", line)?;
    }
    for copies in &copies {
        listing.line("cached-copies", CopiesLine { bytes: copies.bytes, in_use: copies.in_use })?;
    }
    let rows: Vec<Vec<String>> = variants.iter().map(row).chain(copies.iter().map(row_of_copies)).collect();
    listing.write(&[words(&["bytes", "unused for", "codec", "source"], &rows)])
}

fn row(variant: &CachedVariant) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let days = now.saturating_sub(variant.last_used) / DAY;
    vec![variant.bytes.to_string(), format!("{days} days"), variant.spec.clone(), variant.source.clone()]
}

fn row_of_copies(copies: &CachedCopies) -> Vec<String> {
    let state = if copies.in_use { "in use by a run" } else { "left by a killed run" };
    vec![copies.bytes.to_string(), "-".to_owned(), "copies of a run".to_owned(), state.to_owned()]
}

fn prune(cache: &Cache, arguments: &PruneArguments) -> Result<(), Failure> {
    let policy = match (arguments.unused_for, arguments.keep_bytes) {
        (Some(days), _) => PrunePolicy::UnusedFor(Duration::from_secs(days.saturating_mul(DAY))),
        (None, Some(bytes)) => PrunePolicy::KeepBytes(bytes),
        (None, None) => PrunePolicy::All,
    };
    let freed = cache.prune(policy)?;
    let temporary = remove_leftovers(&std::env::temp_dir()).removed;
    let folders = [(freed.cold_copies, "copies"), (freed.outputs, "unfinished output"), (temporary, "temporary files")];
    let left: String = folders.map(|(count, what)| leftovers(count, what)).concat();
    print(&format!("{} variants{left} removed, {} bytes freed, {} in use\n", freed.variants, freed.bytes, freed.in_use))
}

fn leftovers(count: u64, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(" and 1 folder of {what} left by a killed run"),
        folders => format!(" and {folders} folders of {what} left by killed runs"),
    }
}
