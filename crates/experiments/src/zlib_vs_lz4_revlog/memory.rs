//! The memory that larger revlogs take: of hg's processes, and of the page cache that holds what they read.

use repackbench_analysis::{ArmReader, Judgement, SAME, WorkloadKey};
use repackbench_records::{Estimate, ExperimentTable, Figure, Outcome, Statement, StatementValue, Unit};

use super::findings::{CLONE, COMMANDS, LZ4, LayoutFindings, ZLIB, deciding, rows_of_hg};
use crate::tables::{column, has_figure, unpublished};

/// A peak comes from one run and has no interval: that of another run may be this much higher or lower.
const PEAK: f64 = 0.05;

/// The memory of the clone, which reads every chunk, under zlib and under lz4, both by the extension.
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

    /// The memory under lz4 as a multiple of that under zlib, if the peaks are `times` as high.
    fn grown(&self, times: [f64; 2]) -> f64 {
        let ([peak, peak_lz4], [files, files_lz4], [zlib, lz4]) = (self.peaks, self.files, times);
        (peak_lz4 * lz4 + files_lz4) / (peak * zlib + files)
    }

    /// The verdict, and how the growth compares with [`SAME`].
    fn verdict(&self) -> (Outcome, Statement) {
        let [least, most] = [[1.0 + PEAK, 1.0 - PEAK], [1.0 - PEAK, 1.0 + PEAK]].map(|times| self.grown(times));
        let same = |id: &str| Statement::new(id).with("same", Figure::share(SAME));
        if least > 1.0 + SAME {
            (Outcome::Reproduced, same("more-than-the-same"))
        } else if self.files[0] <= self.peaks[0] {
            (Outcome::Undecided, Statement::new("hg-itself-takes-most"))
        } else if most <= 1.0 + SAME {
            (Outcome::NotReproduced, same("no-more-than-the-same"))
        } else {
            (Outcome::Undecided, same("too-near-to-the-same").with("peak", Figure::share(PEAK)))
        }
    }
}

/// The peaks of a command under zlib and under lz4.
fn peaks(layout: &LayoutFindings<'_>, job: WorkloadKey) -> Option<[f64; 2]> {
    both(|row| layout.peak(job, ArmReader::ClientWithLibrary, row).map(|peak| peak.value))
}

/// A figure of zlib and that of lz4.
fn both(of: impl Fn(&str) -> Option<f64>) -> Option<[f64; 2]> {
    Some([of(ZLIB)?, of(LZ4)?])
}

/// A pair of figures in bytes.
fn bytes(both: [f64; 2]) -> StatementValue {
    both.map(Figure::bytes).to_vec().into()
}

/// Judges that larger revlogs press memory: by the memory of a process, and the files that it reads through the page
/// cache.
pub(super) fn judge(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, need)) = deciding(layouts, Need::of) else {
        return of_other_commands(layouts).unwrap_or_else(|| of_replays(layouts));
    };
    let measured = layout.says("memory-of-clone").with("command", "clone --pull");
    let measured = measured.with("peaks", bytes(need.peaks)).with("files", bytes(need.files));
    let (outcome, growth) = need.verdict();
    let reason = Statement::new("memory-grows").with("ratio", Figure::ratio(need.grown([1.0; 2])));
    Judgement::new(outcome, vec![measured], reason.with("growth", growth))
}

/// Undecided by update and pull, which do not read every file: how much of them the page cache has to hold is unknown.
fn of_other_commands(layouts: &[LayoutFindings<'_>]) -> Option<Judgement> {
    let of =
        |layout: &LayoutFindings<'_>| COMMANDS.into_iter().find_map(|(job, name)| Some((name, peaks(layout, job)?)));
    let (layout, (name, peaks)) = deciding(layouts, of)?;
    let measured = layout.says("memory-of-command").with("command", name).with("peaks", bytes(peaks));
    Some(Judgement::new(Outcome::Undecided, vec![measured], Statement::new("only-clones-read-all")))
}

/// Undecided by a replay, which has neither hg's caches nor its Python.
fn of_replays(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let missing = Judgement::missing(Statement::new("memory-of-hg-not-measured"));
    let replayed = |layout: &LayoutFindings<'_>| both(|row| layout.replayed_peak(row).map(|peak| peak.value));
    let Some(peaks) = layouts.iter().find_map(replayed) else { return missing };
    let measured = vec![Statement::new("memory-of-replay").with("peaks", bytes(peaks))];
    Judgement { measured, ..missing.because([Statement::new("replay-has-other-caches")]) }
}

/// Peaks of processes, and the files that there are to read.
pub(super) fn table(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let rows = rows_of_hg().filter_map(|(row, reader, suffix)| {
        let of_hg = COMMANDS.into_iter().map(|(job, _)| layout.peak(job, reader, row));
        let replayed = layout.replayed_peak(row).filter(|_| suffix.is_empty());
        let files = layout.size(row).map(|size| Estimate::exact(size.total_bytes as f64));
        let peaks = unpublished(format!("{row}{suffix}"), of_hg.chain([replayed]).collect());
        has_figure(&peaks).then(|| unpublished(peaks.label, peaks.measured.into_iter().chain([files]).collect()))
    });
    let names = COMMANDS.into_iter().map(|(_, name)| name).chain(["update, replayed", "all files"]);
    ExperimentTable {
        title: layout.says("peak-memory-of-hg").into(),
        columns: names.map(|name| column(name, Unit::Bytes)).collect(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::Record;

    use super::*;
    use crate::{
        tests::{blocks, by_client, reason},
        zlib_vs_lz4_revlog::{
            LayoutKind::{AsFound, Of2012},
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
            judged(&[(AsFound, &clone(zlib, lz4), &sizes)], "memory")
        };
        let large = judge(100, 100, [1000, 1500]);
        assert_eq!(large.outcome, Outcome::Reproduced);
        assert_eq!(
            reason(&large.measured),
            "clone --pull as found under zlib and lz4: the process 100 MB and 100 MB, files 1,000 MB and 1,500 MB"
        );
        assert_eq!(judge(100, 120, [5, 5]).outcome, Outcome::Reproduced);
        assert_eq!(judge(100, 100, [1000, 1010]).outcome, Outcome::NotReproduced);
        let small = judge(100, 100, [5, 7]);
        assert_eq!(small.outcome, Outcome::Undecided, "hg itself holds most");
        let why = reason(&small.reasons);
        assert!(why.contains("come to 1.019 of those under zlib, where hg itself"), "{why}");
        assert_eq!(judge(100, 80, [5, 7]).outcome, Outcome::Undecided, "hg itself holds most");
        for files in [1050, 1060] {
            let near = judge(100, 100, [1000, files]);
            assert_eq!(near.outcome, Outcome::Undecided, "{files}");
            let why = reason(&near.reasons);
            assert!(why.contains("too near to 5.0 % more, because peaks of one run"), "{why}");
        }
        assert_eq!(judge(100, 100, [1000, 1075]).outcome, Outcome::Reproduced);
    }

    #[test]
    fn command_that_reads_a_part_of_the_files_decides_nothing() {
        let sizes = [(ZLIB, size(0, 1_000_000_000)), (LZ4, size(0, 1_500_000_000))];
        let records = with_peaks(by_client("checkout", &[("zlib:6", 1.0), ("lz4", 0.6)]), 100, 110);
        let outcome = judged(&[(AsFound, &records, &sizes)], "memory");
        assert_eq!(outcome.outcome, Outcome::Undecided);
        assert_eq!(reason(&outcome.measured), "update as found under zlib and lz4: the process 100 MB and 110 MB");
        assert!(reason(&outcome.reasons).starts_with("Only clone --pull reads every chunk"), "{:?}", outcome.reasons);
    }

    #[test]
    fn clone_in_the_layout_of_2012_comes_first() {
        let sizes = [(ZLIB, size(0, 1_000_000)), (LZ4, size(0, 1_000_000))];
        let mut old = clone(100, 150);
        old.extend(with_peaks(by_client("checkout", &[("zlib:6", 1.0), ("lz4", 0.6)]), 100, 100));
        let outcome = judged(&[(AsFound, &clone(100, 100), &sizes), (Of2012, &old, &sizes)], "memory");
        assert_eq!(outcome.outcome, Outcome::Reproduced);
        let shown = reason(&outcome.measured);
        assert!(shown.starts_with("clone --pull in the layout of 2012 under zlib and lz4: "), "{shown}");
    }

    #[test]
    fn memory_of_a_replay_decides_nothing_about_hg() {
        let records = with_peaks(blocks("checkout", "zlib:6", "lz4", 1.0), 100, 150);
        let outcome = judged(&[(AsFound, &records, &[])], "memory");
        assert_eq!(outcome.outcome, Outcome::Undecided);
        assert_eq!(reason(&outcome.measured), "The replay of update under zlib and lz4: 100 MB and 150 MB");
    }
}
