//! `repackbench cache`.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use repackbench_writer::cache::{Cache, CachedVariant, PrunePolicy};

use super::print;
use crate::{
    args::{CacheArguments, CacheCommand, PruneArguments},
    failure::Failure,
};

const DAY: u64 = 24 * 60 * 60;

pub(crate) fn run(arguments: &CacheArguments) -> Result<ExitCode, Failure> {
    let cache = Cache::open(None)?;
    match &arguments.command {
        CacheCommand::List => list(&cache)?,
        CacheCommand::Prune(arguments) => prune(&cache, arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(cache: &Cache) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = cache.list()?.iter().map(row).collect();
    print(&repackbench_report::text_table(&["bytes", "unused for", "codec", "source"], &rows))
}

fn row(variant: &CachedVariant) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let days = now.saturating_sub(variant.last_used) / DAY;
    vec![variant.bytes.to_string(), format!("{days} days"), variant.spec.clone(), variant.source.clone()]
}

fn prune(cache: &Cache, arguments: &PruneArguments) -> Result<(), Failure> {
    let policy = match (arguments.unused_for, arguments.keep_bytes) {
        (Some(days), _) => PrunePolicy::UnusedFor(Duration::from_secs(days.saturating_mul(DAY))),
        (None, Some(bytes)) => PrunePolicy::KeepBytes(bytes),
        (None, None) => PrunePolicy::All,
    };
    let freed = cache.prune(policy)?;
    print(&format!("{} variants removed, {} bytes freed, {} in use\n", freed.variants, freed.bytes, freed.in_use))
}
