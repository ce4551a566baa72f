//! What the estimates of many repositories say together.

use repackbench_records::{
    DeltaOrigin, FleetClass, FleetCodec, FleetFailure, FleetRatios, FleetState, FleetSummary, RepositoryClass,
};

use super::names::short_name;
use crate::{
    document::{Article, Block, Cell, Column, ColumnSplit, Table, plain_text},
    number::{bytes, counted, megabytes, multiple, or_dash, percent, share, three_decimals, time_ratio},
};

/// The number of failures that are named.
const NAMED_FAILURES: usize = 10;

/// For each state of the deltas its tables, then the checks of the estimates, the failures and the answer.
pub fn fleet(summary: &FleetSummary) -> Vec<Article> {
    let mut articles: Vec<Article> = summary.states.iter().flat_map(state).collect();
    articles.extend(checks(summary));
    articles.extend(failures(&summary.failures));
    articles.push(answer(summary));
    articles
}

fn article(title: String, blocks: Vec<Block>) -> Article {
    Article { heading: title.clone(), title, ..Article::of(blocks) }
}

fn state(state: &FleetState) -> Vec<Article> {
    let deltas = deltas(state.deltas);
    let repositories = counted(state.repositories as u64, "repository", "repositories");
    let of_sizes = format!("Sizes {deltas}: {repositories}, {} MB", megabytes(state.bytes));
    let baseline = state.codecs.first().map(|codec| plain_text(&codec.codec)).unwrap_or_default();
    let times = format!("CPU time {deltas}, as multiples of that of {baseline}");
    let notes = partial(state).into_iter().chain(size_notes()).collect();
    let mut articles = vec![article(of_sizes, vec![Block::Table(sizes(state)), Block::Notes(notes)])];
    let workloads = times_table(state);
    if !workloads.is_empty() {
        articles.push(article(times, vec![Block::Table(workloads)]));
    }
    articles.push(article(
        format!("By size and content {deltas}: geometric means of size / CPU time"),
        vec![Block::Table(classes(state)), Block::Notes(class_notes())],
    ));
    if let Some(codec) = state.best() {
        let title = format!("The worst under {} {deltas}, by bytes times CPU time", plain_text(&codec.codec));
        articles.push(article(title, vec![Block::Table(worst(codec))]));
    }
    articles
}

fn deltas(origin: DeltaOrigin) -> &'static str {
    match origin {
        DeltaOrigin::Kept => "as found",
        DeltaOrigin::Recomputed => "with deltas that git searched for anew",
    }
}

/// The columns of ratios: total, geometric mean and quantiles.
fn ratio_columns() -> impl Iterator<Item = Column> {
    ["total", "mean", "5 %", "median", "95 %"].map(Column::numbers).into_iter()
}

fn ratio_cells(ratios: &FleetRatios, show: fn(f64) -> String) -> [String; 5] {
    let [lowest, _, median, _, highest] = ratios.quantiles;
    [ratios.total, ratios.mean, lowest, median, highest].map(show)
}

/// A row for each codec: bytes, multiples, and the shares of repositories that gain and lose.
fn sizes(state: &FleetState) -> Table {
    let columns = [Column::words("codec"), Column::numbers("MB")].into_iter().chain(ratio_columns());
    let last = ["gain", "lose", "trade", "encode s"].map(Column::numbers);
    let mut table = Table::new(columns.chain(last));
    for codec in &state.codecs {
        let head = [plain_text(&codec.codec), megabytes(codec.bytes)];
        let ratios = ratio_cells(&codec.size, three_decimals);
        let shares = [codec.gains, codec.loses, codec.trades].map(|part| percent(part, 0));
        let cells = head.into_iter().chain(ratios).chain(shares).chain([multiple(codec.encode_seconds)]);
        table.variant_row(codec.codec.clone(), cells.map(Cell::from));
    }
    table
}

/// Which codecs have not all repositories, so that their sums cannot be compared with others.
fn partial(state: &FleetState) -> Option<String> {
    let partial = state.codecs.iter().filter(|codec| codec.repositories < state.repositories);
    let named: Vec<String> =
        partial.map(|codec| format!("{} {}", plain_text(&codec.codec), codec.repositories)).collect();
    let all = state.repositories;
    (!named.is_empty()).then(|| {
        format!("Not all {all} repositories were estimated under every codec, so sums differ: {}.", named.join(", "))
    })
}

fn size_notes() -> Vec<String> {
    let [bytes, time] =
        [repackbench_analysis::SIZE_THRESHOLD, repackbench_analysis::TIME_THRESHOLD].map(|part| percent(part, 0));
    vec![
        "Sizes are multiples of the repository as it is: in total, as geometric mean, and as quantiles. encode s is the \
         CPU time of one thread for all repositories."
            .to_owned(),
        format!(
            "gain: repositories that save {bytes} of size or {time} of CPU time (geometric mean of the workloads); lose: that \
             add as much; trade: that save one and add the other."
        ),
    ]
}

/// For each workload a row for each codec. The baseline's ratios are all 1, so it only has its seconds.
fn times_table(state: &FleetState) -> Table {
    let columns = ["workload", "codec"].map(Column::words).into_iter().chain([Column::numbers("CPU s")]);
    let mut table = Table::new(columns.chain(ratio_columns())).spaced();
    let mut names: Vec<&str> = Vec::new();
    for workload in state.codecs.iter().flat_map(|codec| &codec.workloads) {
        if !names.contains(&workload.workload.as_str()) {
            names.push(&workload.workload);
        }
    }
    for name in names {
        table.group(Some(name.to_owned()));
        for codec in &state.codecs {
            let Some(workload) = codec.workloads.iter().find(|workload| workload.workload == name) else { continue };
            let head = [plain_text(name), plain_text(&codec.codec), multiple(workload.seconds)];
            let cells = head.into_iter().chain(ratio_cells(&workload.cpu, time_ratio));
            table.variant_row(codec.codec.clone(), cells.map(Cell::from));
        }
    }
    table
}

/// A row for each class, a column for each codec but the baseline.
fn classes(state: &FleetState) -> Table {
    let head = [Column::words("class"), Column::numbers("number"), Column::numbers("MB")];
    let codecs: Vec<&FleetCodec> = state.codecs.iter().skip(1).collect();
    let columns = codecs.iter().map(|codec| Column::words(plain_text(&codec.codec)));
    let mut table = Table::new(head.into_iter().chain(columns));
    table.split = Some(ColumnSplit { fixed: 3, together: 1 });
    for class in &state.classes {
        let head = [class_name(class.class).to_owned(), class.repositories.to_string(), megabytes(class.bytes)];
        let cells = codecs.iter().map(|codec| class_cell(class, &codec.codec));
        table.row(head.into_iter().chain(cells).map(Cell::from));
    }
    table
}

/// `0.912 / 0.65`.
fn class_cell(class: &FleetClass, codec: &str) -> String {
    let found = class.codecs.iter().find(|of| of.codec == codec);
    or_dash(found, |of| format!("{} / {}", three_decimals(of.size_mean), or_dash(of.cpu_mean, time_ratio)))
}

/// The name of a class in tables.
pub(crate) fn class_name(class: RepositoryClass) -> &'static str {
    match class {
        RepositoryClass::Below1Mb => "below 1 MB",
        RepositoryClass::Below10Mb => "1 to 10 MB",
        RepositoryClass::Below100Mb => "10 to 100 MB",
        RepositoryClass::Below1Gb => "100 MB to 1 GB",
        RepositoryClass::From1Gb => "1 GB and more",
        RepositoryClass::Histories => "mostly history",
        RepositoryClass::CompressedFiles => "compressed files",
        RepositoryClass::CompressibleFiles => "other files",
    }
}

fn class_notes() -> Vec<String> {
    vec![
        "mostly history: trees, commits and tags (manifests and changelog) take half or more of the stored bytes of objects; \
         compressed files: files take more, and whole ones keep 80 % of their bytes or more, as images and archives do; \
         other files: text and the like. No content is looked at."
            .to_owned(),
    ]
}

fn worst(codec: &FleetCodec) -> Table {
    let columns = [Column::words("repository"), Column::numbers("MB"), Column::numbers("size"), Column::numbers("CPU")];
    let mut table = Table::new(columns);
    for row in &codec.worst {
        let cells =
            [plain_text(&row.name), megabytes(row.bytes), three_decimals(row.size), or_dash(row.cpu, time_ratio)];
        table.variant_row(codec.codec.clone(), cells.map(Cell::from));
    }
    table
}

/// Predictions and measurements beside each other.
pub(crate) fn checks(summary: &FleetSummary) -> Option<Article> {
    let numbers = ["number", "predicted", "measured", "median error", "largest"].map(Column::numbers);
    let mut table = Table::new(["codec", "of"].map(Column::words).into_iter().chain(numbers));
    for check in &summary.checks {
        let cells = [
            plain_text(&check.codec),
            check.workload.as_deref().map_or_else(|| "size".to_owned(), plain_text),
            check.repositories.to_string(),
            three_decimals(check.predicted),
            three_decimals(check.measured),
            percent(check.median_error, 1),
            percent(check.largest_error, 1),
        ];
        table.variant_row(check.codec.clone(), cells.map(Cell::from));
    }
    let title = "Estimates checked by bench: geometric means of ratios to the baseline, as found".to_owned();
    (!table.is_empty()).then(|| article(title, vec![Block::Table(table)]))
}

/// The first failures by name.
fn failures(failures: &[FleetFailure]) -> Option<Article> {
    let mut table = Table::new(["repository", "again?", "why"].map(Column::words));
    for failure in failures.iter().take(NAMED_FAILURES) {
        let again = if failure.is_permanent { "no" } else { "yes" };
        table.row([plain_text(&failure.name), again.to_owned(), plain_text(&failure.message)]);
    }
    let left = failures.len().saturating_sub(NAMED_FAILURES);
    let notes = (left > 0)
        .then(|| Block::note(format!("{} more are in the shards.", counted(left as u64, "failure", "failures"))));
    let title = "Repositories that were not estimated".to_owned();
    (!failures.is_empty()).then(|| article(title, [Block::Table(table)].into_iter().chain(notes).collect()))
}

/// What was counted, and what the best codec does.
fn answer(summary: &FleetSummary) -> Article {
    let mut notes = vec![counts(summary)];
    notes.extend(summary.states.iter().filter_map(best));
    notes.extend(searched(summary));
    Article { heading: "Answer".to_owned(), title: "Answer".to_owned(), ..Article::of([Block::Notes(notes)]) }
}

/// What was counted, in a sentence.
pub(crate) fn counts(summary: &FleetSummary) -> String {
    let mut text = format!("{} estimated", counted(summary.repositories as u64, "repository", "repositories"));
    if summary.duplicates > 0 {
        let left_out = counted(summary.duplicates as u64, "duplicate", "duplicates");
        text.push_str(&format!(", {left_out} of the same content left out"));
    }
    let permanent = summary.failures.iter().filter(|failure| failure.is_permanent).count();
    let again = summary.failures.len() - permanent;
    for (count, what) in [(permanent, "failed"), (again, "failed for now (fleet --resume tries again)")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    if summary.disturbed > 0 {
        text.push_str(&format!(", {} beside other programs, which makes predicted times doubtful", summary.disturbed));
    }
    if summary.without_kind > 0 {
        text.push_str(&format!(", {} of unknown content", summary.without_kind));
    }
    text + "."
}

/// `As found: zstd:9 has the least bytes times CPU time: ...`.
fn best(state: &FleetState) -> Option<String> {
    let codec = state.best()?;
    let times: Vec<String> =
        codec.workloads.iter().map(|of| format!("{} {}", plain_text(&of.workload), time_ratio(of.cpu.total))).collect();
    let times = if times.is_empty() { String::new() } else { format!("; CPU time {}", times.join(", ")) };
    let saved = i128::from(state.bytes) - i128::from(codec.bytes);
    let saved = match u64::try_from(saved) {
        Ok(saved) => format!("saves {}", bytes(saved)),
        Err(_) => format!("adds {}", bytes(u64::try_from(-saved).unwrap_or(u64::MAX))),
    };
    Some(format!(
        "Least bytes times CPU time {}: {} {saved} of {} (size {}){times}; {} of the repositories gain, {} lose.",
        deltas(state.deltas),
        plain_text(&codec.codec),
        bytes(state.bytes),
        three_decimals(codec.size.total),
        share(codec.gains),
        share(codec.loses),
    ))
}

/// What a new search for deltas makes of the repositories that have it.
fn searched(summary: &FleetSummary) -> Option<String> {
    let state = summary.states.iter().find(|state| state.deltas == DeltaOrigin::Recomputed)?;
    Some(format!(
        "git repack -adF makes {} of {} MB of the {} whose deltas were searched for anew.",
        megabytes(state.bytes),
        megabytes(state.bytes_as_found),
        counted(state.repositories as u64, "repository", "repositories"),
    ))
}

/// The title of a document about a fleet.
pub(crate) fn title(summary: &FleetSummary) -> String {
    match summary.states.first().and_then(|state| state.codecs.first()?.worst.first()) {
        Some(only) if summary.repositories == 1 => format!("{} under other codecs", short_name(&only.name)),
        _ => format!("{} under other codecs", counted(summary.repositories as u64, "repository", "repositories")),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ClassCodec, FleetCheck, FleetRow, FleetWorkload};

    use super::*;
    use crate::fixtures::plain;

    fn codec(name: &str, size: f64, cpu: f64) -> FleetCodec {
        let ratios = |ratio| FleetRatios { total: ratio, mean: ratio, quantiles: [ratio; 5] };
        FleetCodec {
            codec: name.to_owned(),
            repositories: 2,
            bytes: (size * 30e6) as u64,
            size: ratios(size),
            cpu: Some(ratios(cpu)),
            encode_seconds: 12.5,
            gains: 0.5,
            loses: 0.25,
            trades: 0.0,
            workloads: vec![FleetWorkload {
                workload: "traverse".to_owned(),
                repositories: 2,
                seconds: 3.0 * cpu,
                cpu: ratios(cpu),
            }],
            worst: vec![FleetRow { name: "forge/\u{1b}bad.git".to_owned(), bytes: 20_000_000, size, cpu: Some(cpu) }],
        }
    }

    fn summary() -> FleetSummary {
        let class = FleetClass {
            class: RepositoryClass::Below100Mb,
            repositories: 2,
            bytes: 30_000_000,
            codecs: vec![ClassCodec {
                codec: "zstd:9".to_owned(),
                size_total: 0.8,
                size_mean: 0.81,
                cpu_mean: Some(0.6),
            }],
        };
        FleetSummary {
            without_commits: 0,
            repositories: 2,
            duplicates: 3,
            failures: vec![FleetFailure {
                name: "broken".to_owned(),
                message: "not a repository".to_owned(),
                is_permanent: true,
            }],
            disturbed: 1,
            without_kind: 0,
            states: vec![FleetState {
                deltas: DeltaOrigin::Kept,
                repositories: 2,
                bytes: 30_000_000,
                bytes_as_found: 30_000_000,
                codecs: vec![codec("zlib:6", 1.0, 1.0), codec("zstd:9", 0.8, 0.6), codec("lz4", 1.4, 0.5)],
                classes: vec![class],
            }],
            checks: vec![FleetCheck {
                codec: "zstd:9".to_owned(),
                workload: Some("traverse".to_owned()),
                repositories: 1,
                predicted: 0.6,
                measured: 0.62,
                median_error: 0.032,
                largest_error: 0.032,
            }],
            figures: Vec::new(),
        }
    }

    #[test]
    fn answer_counts_and_names_the_best_codec() {
        let text = plain(&fleet(&summary()));
        let answer = text.split("Answer").nth(1).unwrap();
        for expected in [
            "2 repositories estimated, 3 duplicates of the same content left out, 1 failed, 1 beside other programs, which \
             makes predicted times doubtful.",
            "zstd:9 saves 6.00 MB of 30.0 MB (size 0.800); CPU time traverse 0.60; 50 % of the repositories",
        ] {
            let words: Vec<&str> = answer.split_whitespace().collect();
            assert!(words.join(" ").contains(expected), "{answer}");
        }
    }

    #[test]
    fn tables_have_classes_checks_and_failures() {
        let text = plain(&fleet(&summary()));
        for expected in ["10 to 100 MB", "0.810 / 0.60", "forge/\\u{1b}bad.git", "not a repository", "3.2 %"] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
    }

    #[test]
    fn nothing_is_no_error() {
        let text = plain(&fleet(&FleetSummary::default()));
        assert!(text.contains("0 repositories estimated."), "{text}");
    }
}
