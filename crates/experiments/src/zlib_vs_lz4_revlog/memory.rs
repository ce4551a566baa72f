//! The memory that larger revlogs take: of hg's processes, and of the page cache that holds what they read.

use repackbench_records::{Estimate, ExperimentRow, ExperimentTable, Outcome, Unit};

use super::{
    claims::deciding,
    tables::{CLONE, COMMANDS, LZ4, LayoutFindings, ZLIB, rows_of_hg},
};
use crate::{
    estimates::{JobName, Who},
    tables::{column, has_figure},
    text::{megabytes, percent, ratio},
    verdict::{Judgement, SAME},
};

/// A peak is that of one run, and tells no interval: another one may be so much more or less.
const PEAK: f64 = 0.05;

/// What the clone, which reads every chunk, takes under zlib and under lz4, by the extension in both.
struct Need {
    peaks: [f64; 2],
    /// All files of the repository.
    files: [f64; 2],
}

impl Need {
    fn of(layout: &LayoutFindings<'_>) -> Option<Self> {
        let files = both(|row| layout.size(row).map(|size| size.total_bytes as f64))?;
        Some(Need { peaks: peaks(layout, CLONE)?, files })
    }

    /// All of it under lz4 as a multiple of that under zlib, with peaks that are so many times as high.
    fn grown(&self, times: [f64; 2]) -> f64 {
        let ([peak, peak_lz4], [files, files_lz4], [zlib, lz4]) = (self.peaks, self.files, times);
        (peak_lz4 * lz4 + files_lz4) / (peak * zlib + files)
    }

    /// Whether it is larger, as far as the peaks tell; else why they do not.
    fn is_larger(&self) -> Result<bool, String> {
        let [least, most] = [[1.0 + PEAK, 1.0 - PEAK], [1.0 - PEAK, 1.0 + PEAK]].map(|times| self.grown(times));
        if least > 1.0 + SAME {
            Ok(true)
        } else if self.files[0] <= self.peaks[0] {
            Err("where hg itself, with its Python, takes most: the repository is too small to tell".to_owned())
        } else if most <= 1.0 + SAME {
            Ok(false)
        } else {
            Err(format!("too near to {} more, since peaks of one run may be {} off", percent(SAME), percent(PEAK)))
        }
    }
}

/// The peaks of a command under zlib and under lz4.
fn peaks(layout: &LayoutFindings<'_>, job: JobName) -> Option<[f64; 2]> {
    both(|row| layout.peak(job, Who::Library, row).map(|peak| peak.value))
}

/// A figure of zlib, and that of lz4.
fn both(of: impl Fn(&str) -> Option<f64>) -> Option<[f64; 2]> {
    Some([of(ZLIB)?, of(LZ4)?])
}

/// Judges that larger revlogs press memory: by what a process holds, and the files that it reads through the page cache.
pub(super) fn judge(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, need)) = deciding(layouts, Need::of) else {
        return of_other_commands(layouts).unwrap_or_else(|| of_replays(layouts));
    };
    let [peaks, files] =
        [need.peaks, need.files].map(|[zlib, lz4]| format!("{} and {}", megabytes(zlib), megabytes(lz4)));
    let measured = format!("clone --pull, zlib and lz4, {}: the process {peaks}, files {files}", layout.name);
    let (outcome, than) = match need.is_larger() {
        Ok(true) => (Outcome::Reproduced, format!("more than {} more", percent(SAME))),
        Ok(false) => (Outcome::NotReproduced, format!("no more than {} more", percent(SAME))),
        Err(why) => (Outcome::Undecided, why),
    };
    let reason = format!(
        "What the process holds and the files that the page cache has to hold for it come to {} of those under zlib, {than}. No run had a limit of memory.",
        ratio(need.grown([1.0; 2])),
    );
    Judgement::new(outcome, measured, reason)
}

/// Update and pull do not read every file, and nobody counted which of them the page cache has to hold: their peaks are told alone.
fn of_other_commands(layouts: &[LayoutFindings<'_>]) -> Option<Judgement> {
    let of =
        |layout: &LayoutFindings<'_>| COMMANDS.into_iter().find_map(|(job, name)| Some((name, peaks(layout, job)?)));
    let (layout, (name, peaks)) = deciding(layouts, of)?;
    let [zlib, lz4] = peaks.map(megabytes);
    let mut judgement = Judgement::missing(
        "Only clone --pull reads every chunk, and its memory was not measured under zlib and lz4 beside the sizes.",
    );
    judgement.measured = format!("{name}, zlib and lz4, {}: the process {zlib} and {lz4}", layout.name);
    Some(judgement)
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
        assert_eq!(judge(100, 120, [5, 5]).outcome, Outcome::Reproduced);
        assert_eq!(judge(100, 100, [1000, 1010]).outcome, Outcome::NotReproduced);
        let small = judge(100, 100, [5, 7]);
        assert_eq!(small.outcome, Outcome::Undecided, "hg itself holds most");
        assert!(small.reason.contains("come to 1.02 of those under zlib, where hg itself"), "{}", small.reason);
        assert_eq!(judge(100, 80, [5, 7]).outcome, Outcome::Undecided, "hg itself holds most");
        for files in [1050, 1060] {
            let near = judge(100, 100, [1000, files]);
            assert_eq!(near.outcome, Outcome::Undecided, "{files}");
            assert!(near.reason.contains("too near to 5.0 % more, since peaks of one run"), "{}", near.reason);
        }
        assert_eq!(judge(100, 100, [1000, 1075]).outcome, Outcome::Reproduced);
    }

    #[test]
    fn a_command_that_reads_a_part_of_the_files_decides_nothing() {
        let sizes = [(ZLIB, size(0, 1_000_000_000)), (LZ4, size(0, 1_500_000_000))];
        let records = with_peaks(by_client("checkout", &[("zlib:6", 1.0), ("lz4", 0.6)]), 100, 110);
        let outcome = judged(&[(AS_FOUND, &records, &sizes)], "memory");
        assert_eq!(outcome.outcome, Outcome::Undecided);
        assert_eq!(outcome.measured, "update, zlib and lz4, as found: the process 100 MB and 110 MB");
        assert!(outcome.reason.starts_with("Only clone --pull reads every chunk"), "{}", outcome.reason);
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
