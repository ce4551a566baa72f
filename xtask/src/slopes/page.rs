//! Writes the measured part of `docs/large.md`: tables of cost and memory, and the limits that hold. The rest of the
//! page is written by hand and stays as it is.

use std::fmt::Write;
use std::fs;

use super::fit::{linear_slope, log_slope};
use super::jobs::{Bound, Job};
use super::{Measurement, Size, plot};
use crate::files::{failed, read_text};
use crate::process::{Failure, Outcome};

/// The largest slope of log cost against log size that is allowed.
pub(super) const SLOPE: f64 = 1.10;

/// The memory that a job may take apart from mapped files: this, and `PER_OBJECT` for every object.
pub(super) const FIXED: f64 = 200e6;
pub(super) const PER_OBJECT: f64 = 150.0;

/// How much more a run may map than another one, if both read the same part of a repository.
const SAME_WORK: f64 = 1.1;

/// The lines between which the chore writes.
const BEGIN: &str = "<!-- `cargo xtask slopes` writes from here -->";
const END: &str = "<!-- to here -->";

/// One job on all repositories, smallest first.
pub(super) struct Row<'a> {
    pub(super) job: &'a str,
    bound: Bound,
    pub(super) runs: Vec<&'a Measurement>,
}

impl Row<'_> {
    /// The slope of CPU time against bytes and against objects.
    fn slopes(&self) -> [Option<f64>; 2] {
        let against = |size: fn(&Size) -> f64| {
            let points: Vec<_> = self.runs.iter().map(|run| (size(&run.repository), run.usage.cpu())).collect();
            log_slope(&points)
        };
        [against(|size| size.bytes as f64), against(|size| size.objects as f64)]
    }

    /// The growth of anonymous memory, in bytes an object.
    fn memory_slope(&self) -> Option<f64> {
        let points: Vec<_> =
            self.runs.iter().map(|run| (run.repository.objects as f64, run.usage.anonymous as f64)).collect();
        linear_slope(&points)
    }

    /// A cell for each repository, empty where the job was left out.
    fn cells(&self, sizes: &[Size], cell: impl Fn(&Measurement) -> String) -> String {
        let run = |size: &Size| self.runs.iter().find(|run| run.repository == *size);
        let cells: Vec<String> = sizes.iter().map(|size| run(size).map_or("-".to_owned(), |run| cell(run))).collect();
        cells.join(" | ")
    }

    /// What the column of the limit says about CPU time.
    fn cost_verdict(&self) -> &'static str {
        match (self.bound, self.slopes()) {
            (Bound::Time, _) => "bounded by `--time`",
            (Bound::Commits, _) if !self.is_same_work() => "not the same work",
            (_, [Some(bytes), Some(objects)]) => verdict(bytes <= SLOPE && objects <= SLOPE),
            _ => "not known",
        }
    }

    /// Whether all runs read about as much, as far as mapped pages tell.
    fn is_same_work(&self) -> bool {
        let mapped = || self.runs.iter().map(|run| run.usage.mapped as f64);
        mapped().fold(0.0, f64::max) <= SAME_WORK * mapped().fold(f64::INFINITY, f64::min)
    }

    /// Whether the memory of all runs is within the limit.
    fn memory_holds(&self) -> bool {
        self.runs.iter().all(|run| run.usage.anonymous as f64 <= FIXED + PER_OBJECT * run.repository.objects as f64)
    }
}

/// Replaces the measured part of the page, and writes the picture.
pub(super) fn write(sizes: &[Size], jobs: &[Job], measurements: &[Measurement]) -> Outcome<()> {
    let rows: Vec<Row> = jobs.iter().map(|job| row(job, sizes, measurements)).collect();
    let docs = crate::workspace_root().join("docs");
    let picture = docs.join("pictures").join("large.svg");
    fs::write(&picture, plot::draw(&rows)).map_err(|error| failed(&picture, &error))?;
    let path = docs.join("large.md");
    let page = replaced(&read_text(&path)?, &text(sizes, &rows))
        .ok_or_else(|| Failure(format!("{}: expected the lines {BEGIN} and {END}", path.display())))?;
    fs::write(&path, page).map_err(|error| failed(&path, &error))
}

fn row<'a>(job: &'a Job, sizes: &[Size], measurements: &'a [Measurement]) -> Row<'a> {
    let run = |size: &Size| measurements.iter().rfind(|run| run.job == job.name && run.repository == *size);
    Row { job: &job.name, bound: job.bound, runs: sizes.iter().filter_map(run).collect() }
}

/// The page with other lines between the two marks.
fn replaced(page: &str, lines: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{lines}\n{END}{after}"))
}

fn text(sizes: &[Size], rows: &[Row]) -> String {
    let mut text = String::new();
    repositories(&mut text, sizes);
    cost(&mut text, sizes, rows);
    memory(&mut text, sizes, rows);
    throughput(&mut text, sizes, rows);
    text
}

fn repositories(text: &mut String, sizes: &[Size]) {
    let _ = writeln!(text, "| repository | packs, GB | objects |\n|---|---:|---:|");
    for size in sizes {
        let _ = writeln!(text, "| {} | {:.2} | {} |", size.name, size.bytes as f64 / 1e9, thousands(size.objects));
    }
    let _ = writeln!(
        text,
        "\n![CPU time against size, and memory against objects, both on logarithmic axes](pictures/large.svg)\n"
    );
}

/// A table's head: a title, a column for each repository, and more columns.
fn head(text: &mut String, title: &str, sizes: &[Size], more: &[&str]) {
    let columns: Vec<&str> = sizes.iter().map(|size| size.name.as_str()).chain(more.iter().copied()).collect();
    let _ = writeln!(text, "| {title} | {} |", columns.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns.len()));
}

fn cost(text: &mut String, sizes: &[Size], rows: &[Row]) {
    let _ = writeln!(
        text,
        "### CPU time\n\nSeconds, user and system, of the program and of those that it starts. There is no verdict where \
         `--time` bounds the\nwork, and none where the newest commits are not the same work in each repository (the pages \
         that the process maps\ndiffer by more than {:.0} %).\n",
        (SAME_WORK - 1.0) * 100.0
    );
    head(text, "job", sizes, &["slope by bytes", "slope by objects", &format!("at most {SLOPE:.2}")]);
    for row in rows {
        let cells = row.cells(sizes, |run| format!("{:.2}", run.usage.cpu()));
        let [bytes, objects] = row.slopes();
        let (bytes, objects, verdict) = (slope(bytes), slope(objects), row.cost_verdict());
        let _ = writeln!(text, "| {} | {cells} | {bytes} | {objects} | {verdict} |", row.job);
    }
}

fn memory(text: &mut String, sizes: &[Size], rows: &[Row]) {
    let limit = format!("at most {:.0} MB + {PER_OBJECT:.0} B an object", FIXED / 1e6);
    let _ = writeln!(
        text,
        "\n### Memory\n\nPeak MB: of the process's own (anonymous), with the peak of pages of mapped files after the plus \
         sign.\nThe kernel drops the latter when it needs memory.\n"
    );
    head(text, "job", sizes, &["B per more object", &limit]);
    for row in rows {
        let mb = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
        let cells = row.cells(sizes, |run| format!("{} + {}", mb(run.usage.anonymous), mb(run.usage.mapped)));
        // Adding zero makes that of `-0` positive.
        let growth = row.memory_slope().map_or("-".to_owned(), |slope| format!("{:.0}", slope.round() + 0.0));
        let _ = writeln!(text, "| {} | {} | {growth} | {} |", row.job, cells, verdict(row.memory_holds()));
    }
}

fn throughput(text: &mut String, sizes: &[Size], rows: &[Row]) {
    let _ = writeln!(text, "\n### Throughput\n\nMB of packs for each CPU second, and thousands of objects.\n");
    head(text, "job", sizes, &[]);
    // The others read a part of the repository only.
    for row in rows.iter().take(4) {
        let rate = |run: &Measurement| {
            let (size, seconds) = (&run.repository, run.usage.cpu().max(0.01));
            format!("{:.0}, {:.0}", size.bytes as f64 / 1e6 / seconds, size.objects as f64 / 1e3 / seconds)
        };
        let cells = row.cells(sizes, rate);
        let _ = writeln!(text, "| {} | {} |", row.job, cells);
    }
}

fn slope(slope: Option<f64>) -> String {
    slope.map_or("-".to_owned(), |slope| format!("{slope:.2}"))
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "**does not hold**" }
}

/// A number with a comma between groups of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slopes::child::Usage;
    use crate::slopes::jobs;

    fn run(objects: u64, user: f64, anonymous: u64) -> Measurement {
        let repository = Size { name: objects.to_string(), bytes: objects * 1000, objects };
        let usage = Usage { user, system: 0.0, children: 0.0, elapsed: user, anonymous, mapped: 5_000_000, peak: 0 };
        Measurement { repository, job: "verify".into(), usage }
    }

    fn job(name: &str) -> Job {
        jobs::all("1000").into_iter().find(|job| job.name == name).unwrap()
    }

    #[test]
    fn limits_are_judged_on_slope_and_memory() {
        let sizes = [1_000_000, 4_000_000].map(|objects| run(objects, 1.0, 0).repository);
        let job = job("verify");
        let told = |second: f64, memory: u64| {
            let runs = [run(1_000_000, 1.0, 0), run(4_000_000, second, memory)];
            text(&sizes, &[row(&job, &sizes, &runs)])
        };
        assert!(told(4.0, 800_000_000).contains("| verify | 1.00 | 4.00 | 1.00 | 1.00 | holds |"));
        assert!(told(4.0, 800_000_000).contains("| verify | 0 + 5 | 800 + 5 | 267 | holds |"));
        assert!(told(8.0, 0).contains("| verify | 1.00 | 8.00 | 1.50 | 1.50 | **does not hold** |"));
        assert!(told(4.0, 0).contains("| verify | 0 + 5 | 0 + 5 | 0 | holds |"));
        let shrinking = [run(1_000_000, 1.0, 1000), run(4_000_000, 4.0, 0)];
        assert!(text(&sizes, &[row(&job, &sizes, &shrinking)]).contains("| verify | 0 + 5 | 0 + 5 | 0 | holds |"));
        assert!(told(4.0, 801_000_000).contains("| 267 | **does not hold** |"));
    }

    #[test]
    fn there_is_no_verdict_where_size_does_not_decide() {
        let told = |name: &str, mapped: [u64; 2]| {
            let mut runs = [run(1_000_000, 1.0, 0), run(4_000_000, 1.0, 0)];
            for (run, mapped) in runs.iter_mut().zip(mapped) {
                run.job = name.to_owned();
                run.usage.mapped = mapped;
            }
            let sizes = [runs[0].repository.clone(), runs[1].repository.clone()];
            text(&sizes, &[row(&job(name), &sizes, &runs)])
        };
        let cells = |name: &str, verdict: &str| format!("| {name} | 1.00 | 1.00 | 0.00 | 0.00 | {verdict} |");
        for name in ["estimate", "estimate, deltas as found"] {
            assert!(told(name, [5, 5]).contains(&cells(name, "bounded by `--time`")), "{name}");
        }
        let newest = "traverse, newest 1000 commits";
        assert!(told(newest, [100, 110]).contains(&cells(newest, "holds")));
        for mapped in [[100, 111], [111, 100]] {
            assert!(told(newest, mapped).contains(&cells(newest, "not the same work")), "{mapped:?}");
        }
        // All of a repository is more work the larger it is.
        assert!(told("traverse", [100, 400]).contains(&cells("traverse", "holds")));
    }

    #[test]
    fn only_the_measured_part_of_the_page_changes() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nz\n");
        assert_eq!(replaced(&page, "new\n").unwrap(), format!("a\n{BEGIN}\n\nnew\n\n{END}\nz\n"));
        assert_eq!(replaced("a\n", "new"), None);
    }

    #[test]
    fn thousands_have_commas() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(123_456), "123,456");
    }
}
