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
    made_unix_s: u64,
    /// A hash of the state of the source; null for variants of older versions, as the next field.
    state: Option<&'a str>,
    /// Names, versions and settings of what wrote it.
    encoder: Option<&'a str>,
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
    for CachedVariant { bytes, last_used, spec, source, created, state, encoder, .. } in &variants {
        let line = VariantLine {
            bytes: *bytes,
            last_used_unix_s: *last_used,
            codec: spec,
            source,
            made_unix_s: *created,
            state: state.as_deref(),
            encoder: encoder.as_deref(),
        };
        listing.line("cached-variant", line)?;
    }
    for copies in &copies {
        listing.line("cached-copies", CopiesLine { bytes: copies.bytes, in_use: copies.in_use })?;
    }
    let differences: Vec<&str> = variants.iter().map(|variant| difference(variant, &variants)).collect();
    let rows = variants.iter().map(row).chain(copies.iter().map(row_of_copies));
    let has_difference = differences.iter().any(|difference| !difference.is_empty());
    let differences = differences.into_iter().chain(std::iter::repeat(""));
    let rows: Vec<Vec<String>> = match has_difference {
        true => rows.zip(differences).map(|(row, difference)| [row, vec![difference.to_owned()]].concat()).collect(),
        false => rows.collect(),
    };
    let columns = ["bytes", "unused for", "codec", "source", "differs from the newest in"];
    let (columns, _) = columns.split_at(if has_difference { 5 } else { 4 });
    listing.write(&[words(columns, &rows)])
}

/// In what a variant differs from the newest of the same source and codec; empty for the newest, and for one alone.
fn difference(variant: &CachedVariant, all: &[CachedVariant]) -> &'static str {
    let is_same = |other: &&CachedVariant| (&other.source, &other.spec) == (&variant.source, &variant.spec);
    let newest = all.iter().filter(is_same).max_by_key(|other| (other.created, other.key));
    let Some(newest) = newest.filter(|newest| newest.key != variant.key) else { return "" };
    if variant.state.is_none() || newest.state.is_none() {
        return "unknown: made by an older version";
    }
    match (variant.state != newest.state, variant.encoder != newest.encoder) {
        (true, false) => "state of the source",
        (false, true) => "versions or settings of what wrote it",
        (true, true) => "state of the source, and versions or settings of what wrote it",
        (false, false) => "version of the format",
    }
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
