//! The memory that larger revlogs take: of hg's processes, and of the page cache that holds what they read.

use repackbench_records::{Estimate, ExperimentRow, ExperimentTable, Outcome, Unit};

use super::{
    claims::deciding,
    tables::{CLONE, COMMANDS, LZ4, LayoutFindings, ZLIB, rows_of_hg},
};
use crate::{
    estimates::Who,
    tables::{column, has_figure},
    text::{megabytes, percent, ratio},
    verdict::{Judgement, SAME},
};

/// What a command takes under zlib and under lz4, by the extension in both.
struct Need {
    name: &'static str,
    peaks: [f64; 2],
    /// All files of the repository.
    files: [f64; 2],
}

impl Need {
    /// That of the clone, which reads every chunk, or else of another command.
    fn of(layout: &LayoutFindings<'_>) -> Option<Self> {
        let files = both(|row| layout.size(row).map(|size| size.total_bytes as f64))?;
        let (clone, others): (Vec<_>, Vec<_>) = COMMANDS.into_iter().partition(|(job, _)| *job == CLONE);
        clone.into_iter().chain(others).find_map(|(job, name)| {
            let peaks = both(|row| layout.peak(job, Who::Library, row).map(|peak| peak.value))?;
            Some(Need { name, peaks, files })
        })
    }

    /// All of it under lz4 as a multiple of that under zlib.
    fn grown(&self) -> f64 {
        let ([peak, peak_lz4], [files, files_lz4]) = (self.peaks, self.files);
        (peak_lz4 + files_lz4) / (peak + files)
    }
}

/// A figure of zlib, and that of lz4.
fn both(of: impl Fn(&str) -> Option<f64>) -> Option<[f64; 2]> {
    Some([of(ZLIB)?, of(LZ4)?])
}

/// Judges that larger revlogs press memory: by what a process holds, and the files that it reads through the page cache.
pub(super) fn judge(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, need)) = deciding(layouts, Need::of) else { return of_replays(layouts) };
    let [peaks, files] =
        [need.peaks, need.files].map(|[zlib, lz4]| format!("{} and {}", megabytes(zlib), megabytes(lz4)));
    let measured = format!("{}, zlib and lz4, {}: the process {peaks}, files {files}", need.name, layout.name);
    let grown = need.grown();
    let (outcome, than) =
        if grown > 1.0 + SAME { (Outcome::Reproduced, "more than") } else { (Outcome::NotReproduced, "no more than") };
    let reason = format!(
        "What the process holds and the files that the page cache has to hold for it come to {} of those under zlib, {than} {} more. No run had a limit of memory.",
        ratio(grown),
        percent(SAME)
    );
    Judgement::new(outcome, measured, reason)
}

/// The memory of a replay, which has neither hg's caches nor its Python, is told alone.
fn of_replays(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let mut judgement = Judgement::missing("The memory of hg's commands was not measured under zlib and lz4.");
    let replayed = |layout: &LayoutFindings<'_>| both(|row| layout.replayed_peak(row).map(|peak| peak.value));
    if let Some([zlib, lz4]) = layouts.iter().find_map(replayed) {
        judgement.measured = format!("update, replayed: {} with zlib, {} with lz4", megabytes(zlib), megabytes(lz4));
        let reason = " That of the replay of update is this program's, which reads through other caches than hg.";
        judgement.reason.push_str(reason);
    }
    judgement
}

/// Peaks of processes, and what there is to be read.
pub(super) fn table(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let rows = rows_of_hg().filter_map(|(row, who, suffix)| {
        let of_hg = COMMANDS.into_iter().map(|(job, _)| layout.peak(job, who, row));
        let replayed = layout.replayed_peak(row).filter(|_| suffix.is_empty());
        let mut found = ExperimentRow {
            label: format!("{row}{suffix}"),
            published: vec![None; COMMANDS.len() + 2],
            measured: of_hg.chain([replayed]).collect(),
        };
        // What there is to be read stands beside what was measured.
        has_figure(&found).then(|| {
            found.measured.push(layout.size(row).map(|size| Estimate::exact(size.total_bytes as f64)));
            found
        })
    });
    let names = COMMANDS.into_iter().map(|(_, name)| name).chain(["update, replayed", "all files"]);
    ExperimentTable {
        title: format!("Peak resident memory, {}", layout.name),
        columns: names.map(|name| column(name, Unit::Bytes)).collect(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::Record;

    use super::*;
    use crate::{
        estimates::tests::{blocks, by_client},
        zlib_vs_lz4_revlog::{
            AS_FOUND, OLD,
            claims::tests::{judged, size},
        },
    };

    /// Runs whose rows under zlib and lz4 have these peaks, in MB.
    fn with_peaks(mut records: Vec<Record>, zlib: u64, lz4: u64) -> Vec<Record> {
        for record in &mut records {
            let peak = if record.variant.label().starts_with("lz4") { lz4 } else { zlib };
            record.usage.peak_resident_bytes = Some(peak * 1_000_000);
        }
        records
    }

    fn clone(zlib: u64, lz4: u64) -> Vec<Record> {
        with_peaks(by_client("clone:same", &[("zlib:6", 1.0), ("lz4", 0.6)]), zlib, lz4)
    }

    #[test]
    fn processes_and_files_count_together() {
        let judge = |zlib: u64, lz4: u64, files: [u64; 2]| {
            let sizes = [(ZLIB, size(0, files[0] * 1_000_000)), (LZ4, size(0, files[1] * 1_000_000))];
            judged(&[(AS_FOUND, &clone(zlib, lz4), &sizes)], "memory")
        };
        let large = judge(100, 100, [1000, 1500]);
        assert_eq!(large.outcome, Outcome::Reproduced);
        assert_eq!(
            large.measured,
            "clone --pull, zlib and lz4, as found: the process 100 MB and 100 MB, files 1000 MB and 1500 MB"
        );
        assert_eq!(judge(100, 100, [5, 7]).outcome, Outcome::NotReproduced, "hg itself holds most");
        assert_eq!(judge(100, 120, [5, 5]).outcome, Outcome::Reproduced);
    }

    #[test]
    fn a_clone_in_the_layout_of_2012_counts_before_all_else() {
        let sizes = [(ZLIB, size(0, 1_000_000)), (LZ4, size(0, 1_000_000))];
        let mut old = clone(100, 150);
        old.extend(with_peaks(by_client("checkout", &[("zlib:6", 1.0), ("lz4", 0.6)]), 100, 100));
        let outcome = judged(&[(AS_FOUND, &clone(100, 100), &sizes), (OLD, &old, &sizes)], "memory");
        assert_eq!(outcome.outcome, Outcome::Reproduced);
        assert!(
            outcome.measured.starts_with("clone --pull, zlib and lz4, in the layout of 2012: "),
            "{}",
            outcome.measured
        );
    }

    #[test]
    fn memory_of_a_replay_decides_nothing_about_hg() {
        let records = with_peaks(blocks("checkout", "zlib:6", "lz4", 1.0), 100, 150);
        let outcome = judged(&[(AS_FOUND, &records, &[])], "memory");
        assert_eq!(outcome.outcome, Outcome::Undecided);
        assert_eq!(outcome.measured, "update, replayed: 100 MB with zlib, 150 MB with lz4");
    }
}
