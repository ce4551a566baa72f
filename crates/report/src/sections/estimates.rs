//! Sizes and times that were predicted from a sample.

use repackbench_analysis::{
    EstimateAdvice, REPOSITORY_THRESHOLD, advise_on_estimate, bytes_now, predicted_search_seconds,
};
use repackbench_records::{
    ChunkForm, DeltaState, OtherSearch, Predicted, Rechosen, RepositoryEstimate, Vcs, WorkloadPrediction,
};

use super::advice::{self, AdviceLine, Context, ELAPSED_TOLERANCE, GraphTimes, SearchResult};
use crate::{
    document::{Article, Block, Cell, Column, ColumnSplit, Table, plain_text},
    number::{counted, megabytes, or_dash, percent, rate, seconds, thousands, three_decimals, time_ratio},
};

/// So few objects of 100 are deltas where nobody searched for them.
const FEW_DELTAS: u64 = 5;

/// For each repository an article for each state of its deltas, and one with the answer in a few lines.
pub fn estimates(estimates: &[RepositoryEstimate]) -> Vec<Article> {
    estimates.iter().flat_map(articles).collect()
}

fn articles(estimate: &RepositoryEstimate) -> Vec<Article> {
    let found = &estimate.as_found;
    let took = format!("This estimate took {}.", seconds(estimate.seconds));
    let mut articles = vec![article(estimate, found, ("as found", "as found"), Some(took))];
    if let Rechosen::Searched { state, peak_resident_bytes, .. } = &estimate.rechosen {
        let names = ("rechosen", "with deltas that git searched for anew");
        articles.push(article(estimate, state, names, advice::search_memory(*peak_resident_bytes)));
    }
    let answer = Article { heading: "Answer".to_owned(), ..Article::of([advice::notes(&answer(estimate))]) };
    articles.push(Article { is_answer: true, ..named(estimate, "Answer", answer) });
    articles
}

/// The prediction for one state of the deltas, whose name is short in the table and long in its heading, with a last
/// `note`.
fn article(
    estimate: &RepositoryEstimate,
    state: &DeltaState,
    (short, deltas): (&str, &str),
    note: Option<String>,
) -> Article {
    let name = plain_text(&estimate.repository.name);
    let size = megabytes(state.total_bytes);
    let chunks = match estimate.repository.vcs {
        Some(Vcs::Mercurial) => counted(state.chunks, "chunk", "chunks"),
        _ => counted(state.chunks, "object", "objects"),
    };
    let baseline = state.specs.first().map(|spec| plain_text(&spec.spec.typed)).unwrap_or_default();
    let heading = format!(
        "{name} {deltas}, {chunks}, {size} MB: predicted size, and CPU time as multiples of that of {baseline}; less is better"
    );
    let mut notes = cut_workloads(state);
    notes.extend(elapsed_note(state));
    notes.extend(open_note(time_columns(state).iter().flat_map(|time| time.ratios)));
    notes.extend(training_note(estimate, state));
    if state.workloads.iter().any(|workload| workload.ratios.len() < state.specs.len()) {
        notes.push(NUMBERS_NOTE.to_owned());
    }
    notes.push(
        "Speed and memory (of contexts and dictionaries, to encode and decode) are those of one thread.".to_owned(),
    );
    notes.extend(note);
    let blocks = vec![Block::Table(table(state, short)), Block::Notes(notes)];
    named(estimate, deltas, Article { heading, ..Article::of(blocks) })
}

/// What is not known of specs with numbers in the place of ids.
const NUMBERS_NOTE: &str = "Times under ids=number are not predicted: `bench` measures them. Speeds there count bytes \
    with ids, and leave out what putting in numbers takes.";

/// The meaning of question marks, if the ratios that are shown have any.
pub(super) fn open_note<'a>(shown: impl IntoIterator<Item = &'a Predicted>) -> Option<String> {
    shown.into_iter().any(Predicted::is_unknown).then(|| {
        "A question mark stands for an interval that is too wide: too few replays or encodings fitted the time."
            .to_owned()
    })
}

/// How far sizes under trained dictionaries may be off in a short session, whatever the sample says.
fn training_note(estimate: &RepositoryEstimate, state: &DeltaState) -> Option<String> {
    let percent = estimate.training_percent.filter(|_| state.specs.iter().any(|spec| spec.dictionary_bytes > 0))?;
    Some(format!(
        "Dictionaries were trained on {percent} % of what a conversion takes, so sizes under them may be too large by more than their error."
    ))
}

fn named(estimate: &RepositoryEstimate, part: &str, article: Article) -> Article {
    let name = &estimate.repository.name;
    Article { repository: Some(name.clone()), title: format!("{name}: {part}"), ..article }
}

/// Whether a ratio of elapsed times differs from that of CPU times, so that the workload needs two columns.
fn elapsed_differs(workload: &WorkloadPrediction) -> bool {
    let is_apart = |(cpu, elapsed): (&Predicted, &Predicted)| (cpu.value - elapsed.value).abs() > ELAPSED_TOLERANCE;
    workload.ratios.iter().zip(&workload.elapsed_ratios).any(is_apart)
}

/// What elapsed times are where they have no column.
fn elapsed_note(state: &DeltaState) -> Option<String> {
    let known = || state.workloads.iter().filter(|workload| !workload.elapsed_ratios.is_empty());
    let same = known().filter(|workload| !elapsed_differs(workload)).count();
    match same {
        0 => None,
        _ if same == known().count() => {
            Some(format!("Elapsed times are the same multiples, within {ELAPSED_TOLERANCE}."))
        }
        _ => Some(format!(
            "Elapsed times have a column where their multiples differ by more than {ELAPSED_TOLERANCE} from those of CPU time."
        )),
    }
}

/// A time of a workload, which has a column.
struct TimeColumn<'a> {
    name: String,
    ratios: &'a [Predicted],
}

fn time_columns(state: &DeltaState) -> Vec<TimeColumn<'_>> {
    let mut columns = Vec::new();
    for workload in &state.workloads {
        let name = &workload.workload.name;
        let differs = elapsed_differs(workload);
        let cpu = if differs { format!("{name}, CPU") } else { name.clone() };
        columns.push(TimeColumn { name: cpu, ratios: &workload.ratios });
        if differs {
            columns.push(TimeColumn { name: format!("{name}, elapsed"), ratios: &workload.elapsed_ratios });
        }
    }
    columns
}

/// A row for the repository in the state of this name, then one for each codec: its size as a multiple of that, and its
/// times in each workload as multiples of the baseline's.
fn table(state: &DeltaState, name: &str) -> Table {
    let columns = [Column::words("codec"), Column::numbers("MB"), Column::words("size")];
    let times = time_columns(state);
    let last = ["enc MB/s", "dec MB/s", "mem MB"].map(Column::numbers);
    let names = times.iter().map(|time| Column::words(time.name.clone()));
    let mut table = Table::new(columns.into_iter().chain(names).chain(last));
    table.split = Some(ColumnSplit { fixed: 3, together: 1 });
    let head = [name.to_owned(), megabytes(state.total_bytes), three_decimals(1.0)];
    let rest = std::iter::repeat_n("-".to_owned(), times.len() + 3);
    table.row(head.into_iter().chain(rest).map(Cell::from));
    for (at, spec) in state.specs.iter().enumerate() {
        let size = with_error(&spec.total_bytes, state.total_bytes as f64, three_decimals);
        let head = [plain_text(&spec.spec.typed), megabytes(spec.total_bytes.value.max(0.0) as u64), size];
        let times = times.iter().map(|time| time_cell(time.ratios.get(at)));
        let rates = [spec.encode_bytes_per_second, spec.decode_bytes_per_second].map(|speed| rate(speed / 1e6));
        let memory = spec.encode_memory_bytes.zip(spec.decode_memory_bytes);
        let memory = or_dash(memory, |(encode, decode)| megabytes(encode.saturating_add(decode)));
        let cells = head.into_iter().chain(times).chain(rates).chain([memory]);
        table.variant_row(spec.spec.typed.clone(), cells.map(Cell::from));
    }
    table
}

/// What was replayed of a history that did not fit the time.
fn cut_workloads(state: &DeltaState) -> Vec<String> {
    let cut = state.workloads.iter().filter(|workload| workload.is_cut);
    let sentence = |workload: &WorkloadPrediction| {
        let (read, all) = (workload.commits.unwrap_or_default(), state.commits);
        let name = plain_text(&workload.workload.name);
        format!("{name} reads the newest {} of {} commits.", thousands(read), thousands(all))
    };
    cut.map(sentence).collect()
}

/// A ratio of times with its error, or with a question mark if the error says that little is known.
fn time_cell(ratio: Option<&Predicted>) -> String {
    match ratio {
        Some(ratio) if ratio.is_unknown() => format!("{} ?", time_ratio(ratio.value)),
        Some(ratio) => with_error(ratio, 1.0, time_ratio),
        None => "-".to_owned(),
    }
}

/// `0.75 ±0.02`, as a multiple of `of`.
pub(super) fn with_error(predicted: &Predicted, of: f64, show: fn(f64) -> String) -> String {
    let value = show(predicted.value / of);
    match predicted.interval {
        Some(interval) => format!("{value} ±{}", show((interval.high - interval.low) / 2.0 / of)),
        None => value,
    }
}

/// The answer, in eight points at most. Each fits 80 columns in most repositories, and two lines of them if a commit-graph
/// saves time, too.
pub(super) fn answer(estimate: &RepositoryEstimate) -> Vec<AdviceLine> {
    let found = advise_on_estimate(estimate);
    let mut lines = vec![deltas(estimate)];
    let workloads = || found.state.workloads.iter();
    let graph = GraphTimes {
        cpu: workloads().find_map(|workload| workload.own_graph_ratio),
        elapsed: workloads().find_map(|workload| workload.own_graph_elapsed_ratio),
    };
    let context = Context { vcs: estimate.repository.vcs, is_replayed: true, is_searched: found.is_searched };
    lines.extend(advice::gains(&found.advice, context, graph));
    let replayed = workloads().map(|workload| workload.decode_share.value);
    lines.extend(advice::decoding(replayed, workloads().filter_map(|workload| workload.own_share), false));
    lines.extend(advice::price(&found.advice, estimate.repository.vcs, sending_seconds(estimate, &found)));
    lines.extend(advice::writing(&found.advice));
    lines.push(advice::verdict(&found.advice, context, "a longer `--time` may decide"));
    lines.push(method(estimate, &found));
    lines
}

/// About how many CPU seconds a clone by others takes: a new search for deltas, and encoding. hg searches for none.
fn sending_seconds(estimate: &RepositoryEstimate, found: &EstimateAdvice<'_>) -> Option<(&'static str, f64)> {
    let encoding = found.state.encoding_seconds(found.state.specs.first()?)?;
    let search = match &estimate.rechosen {
        _ if estimate.repository.vcs == Some(Vcs::Mercurial) => 0.0,
        Rechosen::Searched { cpu_seconds: Some(took), .. } => *took,
        _ => predicted_search_seconds(&estimate.as_found.objects.as_ref()?.sum(), None),
    };
    Some(("about", search + encoding))
}

/// What a new search for deltas makes of the repository.
fn deltas(estimate: &RepositoryEstimate) -> AdviceLine {
    let found = &estimate.as_found;
    let pack = advice::pack(&estimate.repository, found.chunks, found.total_bytes);
    let search = |window: Option<u32>| {
        let window = window.map(|window| format!(" --window={window}")).unwrap_or_default();
        advice::search(&estimate.repository, &format!("-adF{window}"))
    };
    match &estimate.rechosen {
        Rechosen::Searched { seconds: took, window, other, state, .. } => {
            let result = SearchResult {
                bytes_found: found.total_bytes,
                bytes: bytes_now(estimate, state) as u64,
                seconds: Some(*took),
                reading: None,
                objects_left: Some(state.chunks).filter(|left| *left < found.chunks),
                is_advised: !estimate.repository.is_partial_clone,
            };
            result.line(&search(*window), &pack, &other.as_ref().map(other_search).unwrap_or_default())
        }
        Rechosen::TooLong { predicted_seconds, stopped_after_seconds, window } => {
            let takes = match stopped_after_seconds {
                Some(stopped) if stopped > predicted_seconds => format!("over {}", seconds(*stopped)),
                _ => format!("about {}", seconds(*predicted_seconds)),
            };
            let longest = stopped_after_seconds.unwrap_or_default().max(*predicted_seconds);
            let time = time_with_room(longest, estimate.seconds);
            let is_advised = has_few_deltas(found) && !estimate.repository.is_partial_clone;
            let (name, few) = if is_advised { ("Do first", ", few of them deltas") } else { ("Deltas", "") };
            AdviceLine::new(name, format!("{pack}{few}; {}: {takes} (`--time {time}`).", search(*window)))
        }
        Rechosen::Left { why } => {
            AdviceLine::new("Deltas", format!("{pack}; no new search for deltas: {}.", plain_text(why)))
        }
    }
}

/// Whether a search for deltas is certain to find some: nobody searched before, or only for a few objects.
fn has_few_deltas(state: &DeltaState) -> bool {
    let Some(objects) = &state.objects else { return false };
    let deltas = objects.iter().filter(|(_, form, _)| *form == ChunkForm::Delta);
    let deltas: u64 = deltas.map(|(_, _, sizes)| sizes.entries).sum();
    state.total_bytes >= REPOSITORY_THRESHOLD && 100 * deltas < FEW_DELTAS * objects.sum().entries
}

/// `; with --window=250 116 MB in 90.0 s`.
fn other_search(other: &OtherSearch) -> String {
    let window = other.window.map_or_else(|| "without --window".to_owned(), |window| format!("with --window={window}"));
    match other.total_bytes {
        Some(bytes) => format!("; {window} {} MB in {}", megabytes(bytes), seconds(other.seconds)),
        None => format!("; {window} it takes more than the time left, about {}", seconds(other.seconds)),
    }
}

/// `20s`, `6m`: the time of a session that has room for a search of `seconds`, of which it may take a third. One of
/// `session` seconds had none.
fn time_with_room(seconds: f64, session: f64) -> String {
    match (3.0 * seconds).max(1.5 * session) {
        time @ ..=50.0 => format!("{}s", 10 * (time / 10.0).ceil().max(1.0) as u64 + 10),
        time => format!("{}m", (time / 60.0).ceil() as u64 + 1),
    }
}

fn method(estimate: &RepositoryEstimate, found: &EstimateAdvice<'_>) -> AdviceLine {
    let all = || found.state.specs.iter();
    let best = found.advice.best.map(|best| best.spec);
    let (name, error) = match best.and_then(|best| all().find(|spec| spec.spec == *best)) {
        Some(best) => ("size", best.total_bytes.relative_error()),
        None => ("sizes", all().map(|spec| spec.total_bytes.relative_error()).fold(0.0, f64::max)),
    };
    let error = if error > 0.0 { format!("±{}", percent(error, 1)) } else { "exact".to_owned() };
    let missing = match estimate.missing_objects {
        0 => String::new(),
        count => format!(", {} skipped", counted(count, "missing object", "missing objects")),
    };
    let measure = found.advice.best.map(|best| {
        let spec = plain_text(&best.spec.typed);
        format!("; `bench --codec {spec}` tests it")
    });
    let times = advice::time_error(&found.advice);
    let load = estimate.disturbing_load().map(other_load).unwrap_or_default();
    let measure = measure.unwrap_or_default();
    AdviceLine::new("Predicted", format!("{name} {error}{times}{missing}{load}{measure}."))
}

/// `; other programs took 45 % of the processors' time, so repeat it without them`.
fn other_load(share: f64) -> String {
    format!("; other programs took {} of the processors' time, so repeat it without them", percent(share, 0))
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        ChunkSizes, ObjectKind, ObjectSizes, RatioInterval, Readers, RepositoryState, SCHEMA_VERSION, SpecPrediction,
        SpecText, WorkloadLabel,
    };

    use super::*;
    use crate::fixtures::plain;

    fn spec(typed: &str, bytes: f64, readers: Readers) -> SpecPrediction {
        let interval = RatioInterval { low: bytes * 0.99, high: bytes * 1.01, coverage: 0.95 };
        SpecPrediction {
            spec: SpecText { typed: typed.to_owned(), canonical: typed.to_owned() },
            total_bytes: Predicted { value: bytes, interval: Some(interval) },
            dictionary_bytes: 0,
            training_seconds: 0.0,
            sampled_chunks: 500,
            encode_bytes_per_second: 50e6,
            decode_bytes_per_second: 500e6,
            encode_memory_bytes: Some(1_200_000),
            decode_memory_bytes: Some(130_000),
            readers,
        }
    }

    /// 9,000 deltas of 20 MB: a search among them is predicted to take 2.67 s.
    fn objects() -> ObjectSizes {
        let mut objects = ObjectSizes::default();
        *objects.get_mut(ObjectKind::Blob, ChunkForm::Delta) =
            ChunkSizes { entries: 9000, stored_bytes: 9_000_000, payload_bytes: 20_000_000 };
        objects
    }

    fn state() -> DeltaState {
        let traverse = WorkloadPrediction {
            workload: WorkloadLabel { name: "traverse".to_owned(), parameters: Default::default() },
            commits: Some(500),
            is_cut: true,
            seconds: 1.0,
            decode_share: Predicted::exact(0.5),
            own_share: Some(0.25),
            own_graph_ratio: None,
            own_graph_elapsed_ratio: None,
            decodes: 7000,
            elapsed_ratios: Vec::new(),
            ratios_to_own: Vec::new(),
            elapsed_ratios_to_own: Vec::new(),
            ratios: vec![Predicted::exact(1.0), Predicted::exact(0.8), Predicted::exact(0.6)],
        };
        DeltaState {
            total_bytes: 10_000_000,
            chunk_bytes: 9_000_000,
            payload_bytes: 20_000_000,
            chunks: 9000,
            commits: 2000,
            sampled_chunks: 500,
            objects: Some(objects()),
            specs: vec![
                spec("zlib:6", 10e6, Readers::Stock),
                spec("libdeflate:9", 9.9e6, Readers::Stock),
                spec("zstd:9", 8.5e6, Readers::Exec),
            ],
            workloads: vec![traverse],
        }
    }

    fn estimate(rechosen: Rechosen) -> RepositoryEstimate {
        RepositoryEstimate {
            schema: SCHEMA_VERSION,
            program_version: "1".to_owned(),
            command: None,
            host: None,
            repository: RepositoryState { name: "repo".to_owned(), ..RepositoryState::default() },
            seed: 1,
            seconds: 12.0,
            other_load: Some(0.02),
            missing_objects: 1,
            training_percent: None,
            pack_checksums: Vec::new(),
            as_found: state(),
            rechosen,
        }
    }

    #[test]
    fn answer_has_eight_lines_and_says_what_to_do() {
        let text = plain(&estimates(&[estimate(Rechosen::TooLong {
            predicted_seconds: 90.0,
            stopped_after_seconds: None,
            window: None,
        })]));
        let answer: Vec<&str> = text.split("Answer").nth(1).unwrap().trim().lines().collect();
        assert_eq!(answer.len(), 8, "{text}");
        for (line, expected) in answer.iter().zip([
            "Deltas: 9,000 objects, 10.0 MB; `git repack -adF`: about 90.0 s (`--time 6m`).",
            "Same format: libdeflate:9: replays: 20 % less CPU time.",
            "Best: zstd:9: 15.0 % smaller; replays: 40 % less CPU time.",
            "Decoding: 50 % of replays' CPU time (the limit), 25 % of your git's.",
            "Price: git needs `exec`; a clone by others takes about 3.07 s of CPU time.",
            "Writing: 400 ms of CPU time, 1.20 MB a thread; back by `convert --codec zlib:6`.",
            "Verdict: change to zstd:9 (threshold: 5 % of size or 10 % of CPU time).",
            "Predicted: size ±1.0 %, 1 missing object skipped; `bench --codec zstd:9` tests it.",
        ]) {
            assert_eq!(*line, expected);
            // Missing objects are rare.
            assert!(line.chars().count() <= 80 || line.contains("missing"), "{line}");
        }
        assert!(text.contains("\nThis estimate took 12.0 s.\n"), "{text}");
        assert!(text.contains("traverse reads the newest 500 of 2,000 commits."), "{text}");
    }

    #[test]
    fn other_programs_are_named_where_they_make_times_doubtful() {
        let line = |other_load| answer(&RepositoryEstimate { other_load, ..too_long() }).pop().unwrap().text;
        let doubt =
            "1 missing object skipped; other programs took 45 % of the processors' time, so repeat it without them; ";
        assert!(line(Some(0.447)).contains(doubt), "{}", line(Some(0.447)));
        for quiet in [None, Some(0.0), Some(0.099)] {
            assert!(line(quiet).contains("1 missing object skipped; `bench"), "{}", line(quiet));
        }
    }

    #[test]
    fn codec_that_is_there_is_what_gains_are_counted_from() {
        let mut estimate = estimate(Rechosen::Left { why: "it was not asked for".to_owned() });
        (estimate.repository.vcs, estimate.repository.codec) = (Some(Vcs::Mercurial), Some("zlib".to_owned()));
        estimate.as_found.specs[0].spec.canonical = "store".to_owned();
        estimate.as_found.specs[1].spec.canonical = "zlib:6".to_owned();
        estimate.as_found.specs[2].readers = Readers::Repackbench;
        let said: Vec<String> = answer(&estimate).iter().map(AdviceLine::to_string).collect();
        let last = "Only repackbench reads zstd:9: 15.0 % smaller; replays: 25 % less CPU time.";
        let verdict = "Verdict: stay: no codec of about this size that hg reads is certain to save anything.";
        assert!(said.contains(&format!("{verdict} {last}")), "{said:#?}");
    }

    #[test]
    fn short_training_is_said() {
        let mut estimate = estimate(Rechosen::Left { why: "it was not asked for".to_owned() });
        estimate.training_percent = Some(13);
        assert!(!plain(&estimates(&[estimate.clone()])).contains("Dictionaries"), "no codec has any");
        estimate.as_found.specs[2].dictionary_bytes = 1;
        assert!(plain(&estimates(&[estimate])).contains("\nDictionaries were trained on 13 % of what"));
    }

    #[test]
    fn ratio_with_an_interval_wider_than_itself_has_a_question_mark() {
        let mut estimate = estimate(Rechosen::Left { why: "it was not asked for".to_owned() });
        let interval = |low, high| Some(RatioInterval { low, high, coverage: 0.95 });
        estimate.as_found.workloads[0].ratios[1].interval = interval(0.0, 3.0);
        estimate.as_found.workloads[0].ratios[2].interval = interval(0.4, 0.8);
        let text = plain(&estimates(&[estimate]));
        let row = |spec| text.lines().find(|line| line.starts_with(spec)).unwrap_or_default();
        assert!(row("libdeflate:9").contains(" 0.80 ? "), "{text}");
        assert!(row("zstd:9").contains(" 0.60 ±0.20 "), "{text}");
        assert!(text.contains("\nA question mark stands for an interval that is too wide: too few replays or encodings fitted the time.\n"), "{text}");
    }

    /// Elapsed times that have no column have no question mark either.
    #[test]
    fn question_marks_that_are_not_shown_have_no_legend() {
        let mut estimate = estimate(Rechosen::Left { why: "it was not asked for".to_owned() });
        let workload = &mut estimate.as_found.workloads[0];
        workload.elapsed_ratios.clone_from(&workload.ratios);
        workload.elapsed_ratios[1].interval = Some(RatioInterval { low: 0.0, high: 3.0, coverage: 0.95 });
        let text = plain(&estimates(std::slice::from_ref(&estimate)));
        assert!(!text.contains(" ? ") && !text.contains("question mark"), "{text}");
        estimate.as_found.workloads[0].elapsed_ratios[1].value += 0.5;
        let text = plain(&estimates(&[estimate]));
        assert!(text.contains(" ? ") && text.contains("\nA question mark"), "{text}");
    }

    #[test]
    fn searched_deltas_are_an_article_of_their_own() {
        let mut searched = DeltaState { total_bytes: 7_000_000, ..state() };
        let specs =
            [("zlib:6", 7e6, Readers::Stock), ("libdeflate:9", 6.9e6, Readers::Stock), ("zstd:9", 6e6, Readers::Exec)];
        searched.specs = specs.map(|(typed, bytes, readers)| spec(typed, bytes, readers)).to_vec();
        let text = plain(&estimates(&[estimate(Rechosen::Searched {
            seconds: 3.0,
            cpu_seconds: Some(5.0),
            window: None,
            peak_resident_bytes: Some(20_000_000),
            is_without_names: false,
            other: Some(OtherSearch { window: Some(250), seconds: 20.0, total_bytes: Some(6_500_000) }),
            state: Box::new(searched),
        })]));
        assert!(
            text.contains("Do first: `git repack -adF`: 9,000 objects, 10.0 MB become 7.00 MB in 3.00 s; with --window=250 6.50 MB in 20.0 s."),
            "{text}"
        );
        assert!(text.contains("repo with deltas that git searched for anew, 9,000 objects, 7.00 MB"), "{text}");
        // 5.00 s of the search, and 400 ms to encode.
        assert!(text.contains("a clone by others takes about 5.40 s of CPU time."), "{text}");
        assert!(text.contains("\nThe search for deltas held up to 20.0 MB of memory.\n"), "{text}");
    }

    #[test]
    fn search_that_was_stopped_takes_more_than_its_time_or_what_was_predicted() {
        for (stopped_after_seconds, expected) in [(100.0, "`: over 100 s"), (20.0, "`: about 90.0 s")] {
            let too_long = Rechosen::TooLong {
                predicted_seconds: 90.0,
                stopped_after_seconds: Some(stopped_after_seconds),
                window: None,
            };
            let text = plain(&estimates(&[estimate(too_long)]));
            assert!(text.contains(expected), "{text}");
        }
    }

    /// A search would take 90 s.
    fn too_long() -> RepositoryEstimate {
        estimate(Rechosen::TooLong { predicted_seconds: 90.0, stopped_after_seconds: None, window: None })
    }

    #[test]
    fn search_comes_first_where_few_objects_are_deltas() {
        let text = |whole, deltas| {
            let mut estimate = too_long();
            let mut objects = ObjectSizes::default();
            for (form, entries) in [(ChunkForm::Whole, whole), (ChunkForm::Delta, deltas)] {
                objects.get_mut(ObjectKind::Blob, form).entries = entries;
            }
            estimate.as_found.objects = Some(objects);
            plain(&estimates(&[estimate]))
        };
        assert!(
            text(961, 39)
                .contains("Do first: 9,000 objects, 10.0 MB, few of them deltas; `git repack -adF`: about 90.0 s")
        );
        assert!(!text(949, 51).contains("first"));
    }

    #[test]
    fn borrowed_objects_are_named() {
        let mut estimate = too_long();
        estimate.repository.borrows_objects = true;
        let text = plain(&estimates(&[estimate]));
        let expected = "MB, borrowed ones included; `git repack -adF` in a clone that borrows nothing: about 90.0 s";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn search_in_a_partial_clone_is_that_of_a_full_one_and_not_advised() {
        let mut estimate = too_long();
        estimate.repository.is_partial_clone = true;
        estimate.as_found.objects = Some(ObjectSizes::default());
        let whole = estimate.as_found.objects.as_mut().unwrap().get_mut(ObjectKind::Blob, ChunkForm::Whole);
        whole.entries = 9000;
        let text = plain(&estimates(&[estimate]));
        assert!(text.contains("MB; a search like that of `git repack -adF` in a full clone: about 90.0 s"), "{text}");
    }
}
