//! The answer in a few lines that fit 80 columns: what to do about deltas, what codecs gain, their price, and a
//! verdict.

use std::fmt;

use repackbench_analysis::{
    Advice, BenchAdvice, BoundedRatio, CodecGain, CodecVerdict, REPOSITORY_THRESHOLD, SIZE_THRESHOLD, TIME_THRESHOLD,
    advise_on_bench, predicted_search_seconds,
};
use repackbench_records::{
    Client, Predicted, Readers, RepositoryState, Role, VariantComparison, Vcs, WorkloadComparison,
};

use super::effects::{SizeDifference, change_words, plain_spaces};
use crate::{
    document::{Block, plain_text},
    number::{counted, megabytes, percent, seconds, thousands},
};

/// How far CPU and elapsed time may be apart to be called one: the noise floor of a steady machine.
pub(super) const ELAPSED_TOLERANCE: f64 = 0.02;

/// The options of the search that `bench` measures: its result holds the same objects, unreachable ones, too.
const KEEPING: &str = "-adFk";

/// A line of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdviceLine {
    /// Its subject: `Deltas`, `Verdict`.
    pub(crate) name: &'static str,
    /// What is said about it. Plain.
    pub(crate) text: String,
}

impl AdviceLine {
    /// A line.
    pub(super) fn new(name: &'static str, text: impl Into<String>) -> Self {
        AdviceLine { name, text: text.into() }
    }
}

impl fmt::Display for AdviceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}

/// The lines as notes below a table.
pub(super) fn notes(lines: &[AdviceLine]) -> Block {
    Block::Notes(lines.iter().map(AdviceLine::to_string).collect())
}

/// The answer that the workloads of one repository give. Empty without a candidate.
pub(crate) fn measured(repository: &RepositoryState, comparisons: &[&WorkloadComparison]) -> Vec<AdviceLine> {
    let Some(found) = advise_on_bench(comparisons) else { return Vec::new() };
    let mut lines: Vec<AdviceLine> = deltas(repository, &found).into_iter().collect();
    let is_replayed = comparisons.iter().all(|comparison| comparison.workload.client().is_none());
    let context = Context { vcs: repository.vcs, is_replayed, is_searched: found.searched.is_some() };
    let baselines = || comparisons.iter().filter_map(|comparison| comparison.baseline());
    let own_git = || baselines().filter_map(|baseline| baseline.own_git);
    let graph = GraphTimes {
        cpu: own_git().find_map(|own| own.graph_ratio),
        elapsed: own_git().find_map(|own| own.graph_elapsed_ratio),
    };
    lines.extend(gains(&found.advice, context, graph));
    let replayed = comparisons.iter().filter_map(|comparison| decode_share(comparison, &found));
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.rows);
    let saves_more =
        rows().filter_map(|row| row.variant.spec.as_ref()).any(|spec| spec.canonical.contains("ids=number"));
    lines.extend(decoding(replayed, own_git().map(|own| own.decode_share), saves_more));
    lines.extend(price(&found.advice, repository.vcs, sending_seconds(repository, &found)));
    lines.extend(writing(&found.advice));
    lines.push(verdict(&found.advice, context, "more blocks may decide"));
    lines.push(method(&found, comparisons));
    lines
}

/// The CPU seconds that a clone by others takes: at most, if a conversion with a new search for deltas was measured,
/// since that also decodes and verifies; otherwise about, by a prediction of the search. hg searches for none.
fn sending_seconds(repository: &RepositoryState, found: &BenchAdvice<'_>) -> Option<(&'static str, f64)> {
    let of = |row: &VariantComparison| Some(row.conversion?.cpu_ns as f64 / 1e9);
    if repository.vcs == Some(Vcs::Mercurial) {
        return Some(("at most", of(found.baseline)?));
    }
    match found.searched {
        Some(searched) => Some(("at most", of(searched)?)),
        None => {
            let search = predicted_search_seconds(&found.baseline.size.objects.sum(), None);
            Some(("about", of(found.baseline)? + search))
        }
    }
}

/// The share of decoding in a workload under the baseline, or in the repository as found if codecs are compared with
/// that: what does not decode takes the same time under both.
fn decode_share(comparison: &WorkloadComparison, found: &BenchAdvice<'_>) -> Option<f64> {
    let share = comparison.baseline()?.decode_share?;
    let Some(own) = found.own.filter(|own| own.variant.role == Role::AsFound) else { return Some(share) };
    let is_own = |row: &&VariantComparison| row.variant == own.variant;
    let ratio = comparison.rows.iter().find(is_own)?.ratio?.ratio;
    Some((1.0 - (1.0 - share) / ratio).clamp(0.0, 1.0))
}

/// What a new search for deltas makes of the repository.
fn deltas(repository: &RepositoryState, found: &BenchAdvice<'_>) -> Option<AdviceLine> {
    let is_git = repository.vcs != Some(Vcs::Mercurial);
    let chunks = found.baseline.size.objects.sum();
    // What a search saves is not what another codec does. Older records have only the bytes of the baseline.
    let is_comparable = repository.codec.is_none() || found.searched.is_none();
    let bytes_found = repository.bytes.filter(|_| is_comparable);
    let bytes_found = bytes_found.unwrap_or(found.baseline.size.total_bytes);
    let pack = pack(repository, chunks.entries, bytes_found);
    match found.searched {
        Some(searched) => {
            let program = if is_git { search(repository, KEEPING) } else { "hg's new search".to_owned() };
            let cost = searched.conversion.unwrap_or_default();
            let words = SearchResult {
                bytes_found,
                bytes: searched.size.total_bytes,
                seconds: cost.search_ns.map(|took| took as f64 / 1e9),
                reading: found.searched_cpu,
                objects_left: None,
                is_advised: !repository.is_partial_clone,
            };
            Some(words.line(&program, &pack, ""))
        }
        None if repository.vcs == Some(Vcs::Mercurial) => {
            Some(AdviceLine::new("Deltas", format!("{pack}; `--rechosen` has hg search for new ones.")))
        }
        None if repository.vcs == Some(Vcs::Git) && chunks.entries > 0 => {
            let takes = seconds(predicted_search_seconds(&chunks, None));
            let text = format!("{pack}; new ones (`--rechosen`): about {takes} of CPU time.");
            Some(AdviceLine::new("Deltas", text))
        }
        None => None,
    }
}

/// What a search for deltas needed, if that is known.
pub(super) fn search_memory(bytes: Option<u64>) -> Option<String> {
    bytes.map(|bytes| format!("The search for deltas held up to {} MB of memory.", megabytes(bytes)))
}

/// `171,327 objects, 199 MB`.
pub(super) fn pack(repository: &RepositoryState, chunks: u64, bytes: u64) -> String {
    let [one, many] = match repository.vcs {
        Some(Vcs::Mercurial) => ["chunk", "chunks"],
        _ => ["object", "objects"],
    };
    let borrowed = if repository.borrows_objects { ", borrowed ones included" } else { "" };
    format!("{}, {} MB{borrowed}", counted(chunks, one, many), megabytes(bytes))
}

/// `` `git repack -adF` ``: the command with `options` that searches for deltas, and where it does what was measured. In a partial clone
/// git packs without file names, and finds far fewer deltas. Where objects are borrowed, it would copy them. Under
/// another codec git needs help.
pub(super) fn search(repository: &RepositoryState, options: &str) -> String {
    let command = format!("`git repack {options}`");
    match repository {
        RepositoryState { codec: Some(_), vcs: Some(Vcs::Git), .. } => command + " under `exec`",
        RepositoryState { is_partial_clone: true, .. } => format!("a search like that of {command} in a full clone"),
        RepositoryState { borrows_objects: true, .. } => command + " in a clone that borrows nothing",
        _ => command,
    }
}

/// What a search for deltas made of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchResult {
    /// The bytes before it.
    pub(super) bytes_found: u64,
    /// The bytes after it.
    pub(super) bytes: u64,
    /// Its elapsed time.
    pub(super) seconds: Option<f64>,
    /// The CPU time that its result takes to read, as a multiple of that before. Deltas that are found anew may have
    /// longer chains.
    pub(super) reading: Option<BoundedRatio>,
    /// The number of stored objects after it, if some are gone: unreachable, or stored twice.
    pub(super) objects_left: Option<u64>,
    /// Whether the user can run this search; only then is it advised.
    pub(super) is_advised: bool,
}

impl SearchResult {
    /// ``Do first: `git repack -adF`: 171,327 objects, 199 MB become 124 MB in 16.0 s.``: `search` of a `pack`, and what
    /// `other` says.
    pub(super) fn line(&self, search: &str, pack: &str, other: &str) -> AdviceLine {
        let ratio = self.bytes as f64 / self.bytes_found.max(1) as f64;
        let took = self.seconds.map(|took| format!(" in {}", seconds(took))).unwrap_or_default();
        // A pack is also smaller without what nothing refers to.
        let left = self.objects_left.map(|left| format!("{} of ", thousands(left))).unwrap_or_default();
        let reading = self.reading.filter(BoundedRatio::is_more);
        let reading = reading.map(|time| format!("; it takes {} CPU time to read", change_words(time.ratio)));
        let name = if self.is_worth_it(ratio) { "Do first" } else { "Deltas" };
        let (made, reading) = (megabytes(self.bytes), reading.unwrap_or_default());
        AdviceLine::new(name, format!("{search}: {pack} become {left}{made} MB{took}{reading}{other}."))
    }

    /// Whether it makes enough less of the repository, this multiple, and the result is not slow to read.
    fn is_worth_it(&self, ratio: f64) -> bool {
        let is_slow = self.reading.is_some_and(|time| time.is_more() && time.ratio > 1.0 + TIME_THRESHOLD);
        self.is_advised && ratio <= 1.0 - SIZE_THRESHOLD && self.bytes_found >= REPOSITORY_THRESHOLD && !is_slow
    }
}

/// The times that git takes for a traversal with a commit-graph, as multiples of those without.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GraphTimes {
    pub(super) cpu: Option<Predicted>,
    pub(super) elapsed: Option<Predicted>,
}

impl GraphTimes {
    /// What is gained, if it is certain for CPU time.
    fn words(&self) -> Option<String> {
        let cpu = self.cpu.filter(|cpu| cpu.interval.is_some())?;
        let cpu = Some(BoundedRatio::from(&cpu)).filter(BoundedRatio::is_less)?;
        let elapsed = self.elapsed.as_ref().map(BoundedRatio::from).filter(BoundedRatio::is_decided);
        let times = times_words(Some(cpu), elapsed)?;
        Some(format!("commit-graph: {times} in git's traverse"))
    }
}

/// What the figures of an answer are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    pub(super) vcs: Option<Vcs>,
    /// Whether times are of replays, and not of a client.
    pub(super) is_replayed: bool,
    /// Whether codecs are compared after a new search for deltas.
    pub(super) is_searched: bool,
}

impl Context {
    /// `hg` or `git`.
    fn program(self) -> &'static str {
        if self.vcs == Some(Vcs::Mercurial) { "hg" } else { "git" }
    }

    /// `zstd:9: 9.0 % smaller; replays: 5 % less CPU time`. Sizes are compared with the repository itself, after a new
    /// search for deltas where there is one, and times with those under its codec.
    fn effect(self, gain: &CodecGain<'_>) -> String {
        let by = if self.needs_decoder(gain) { " decoding by it" } else { "" };
        let times = self.times(gain, by).map(|times| format!("; {times}")).unwrap_or_default();
        format!("{}: {}{times}", name(gain), size_words(gain))
    }

    /// The same without a size that hardly changes, if there are times.
    fn effect_on_what_changes(self, gain: &CodecGain<'_>) -> String {
        let is_needed = self.needs_decoder(gain);
        let by = if is_needed { format!(" decoding by {}", name(gain)) } else { String::new() };
        match self.times(gain, &by).filter(|_| gain.size.is_about_one()) {
            Some(times) if is_needed => times,
            Some(times) => format!("{}: {times}", name(gain)),
            None => self.effect(gain),
        }
    }

    /// Whether times are those of replays that decode zlib streams with another library than plain git.
    fn needs_decoder(self, gain: &CodecGain<'_>) -> bool {
        let is_stock = gain.readers == Some(Readers::Stock);
        self.is_replayed && self.vcs == Some(Vcs::Git) && is_stock && !gain.spec.canonical.starts_with("zlib:")
    }

    /// `replays: 5 % less CPU time`, or those `by` a decoder.
    fn times(self, gain: &CodecGain<'_>, by: &str) -> Option<String> {
        let who = if self.is_replayed { "replays" } else { self.program() };
        times_words(gain.cpu, gain.elapsed).map(|times| format!("{who}{by}: {times}"))
    }
}

/// What is gained without a new format, and by the best codec. Replays of this program decode zlib streams with the
/// library that wrote them. A client with another zlib is named. `graph` is what git gains without a new codec.
pub(super) fn gains(advice: &Advice<'_>, context: Context, graph: GraphTimes) -> impl Iterator<Item = AdviceLine> {
    // The best codec may need no new format either, as the line on its price says.
    let is_same =
        |(stock, best): (CodecGain<'_>, CodecGain<'_>)| (stock.spec, stock.client) == (best.spec, best.client);
    let is_best_stock = advice.stock.zip(advice.best).is_some_and(is_same);
    let stock = advice.stock.filter(|_| !is_best_stock).map(|gain| context.effect_on_what_changes(&gain));
    let stock: Vec<String> = stock.into_iter().chain(graph.words()).collect();
    let is_git_replay = context.is_replayed && context.vcs == Some(Vcs::Git);
    let stock = match stock.is_empty() {
        false => Some(stock.join("; ") + "."),
        true if is_git_replay && !advice.has_stock => {
            Some("`--codec libdeflate:6` measures what that gains.".to_owned())
        }
        true => None,
    };
    let [same_format, best] =
        if context.is_searched { ["Same format then", "Best then"] } else { ["Same format", "Best"] };
    let stock = stock.map(|text| AdviceLine::new(same_format, text));
    let best = advice.best.map(|gain| AdviceLine::new(best, context.effect(&gain) + "."));
    stock.into_iter().chain(best)
}

/// `17.0 % smaller`. Only what is certain counts as a difference, and only what is certainly small as none.
fn size_words(gain: &CodecGain<'_>) -> String {
    match SizeDifference::of_ratio(gain.size.ratio).filter(|_| gain.size.differs()) {
        Some(size) => plain_spaces(&size.words()),
        None if gain.size.is_about_one() => "about the same size".to_owned(),
        None => "size undecided".to_owned(),
    }
}

/// `zstd:9`, or `zlib:6, read by git + libdeflate`.
fn name(gain: &CodecGain<'_>) -> String {
    let client = gain.client.map(|client| format!(", read by {client}")).unwrap_or_default();
    plain_text(&gain.spec.typed) + &client
}

/// `38 % less CPU time, about the same elapsed time`, of the ratios that are known.
fn times_words(cpu: Option<BoundedRatio>, elapsed: Option<BoundedRatio>) -> Option<String> {
    let time = |of: BoundedRatio, name: &str| match of {
        _ if of.differs() => format!("{} {name}", change_words(of.ratio)),
        _ if of.is_about_one() => format!("about the same {name}"),
        _ => format!("{name} undecided"),
    };
    let both = cpu.zip(elapsed).and_then(|(cpu, elapsed)| {
        let [of_cpu, of_elapsed] = [cpu, elapsed].map(|of| time(of, "CPU and elapsed time"));
        let are_close = cpu.is_less() && elapsed.is_less() && (cpu.ratio - elapsed.ratio).abs() <= ELAPSED_TOLERANCE;
        match of_cpu == of_elapsed {
            true => Some(of_cpu),
            false => are_close.then(|| format!("about {of_cpu}")),
        }
    });
    let each = [(cpu, "CPU time"), (elapsed, "elapsed time")];
    let each = each.into_iter().filter_map(|(of, name)| Some(time(of?, name))).collect::<Vec<_>>().join(", ");
    both.or((!each.is_empty()).then_some(each))
}

/// The shares of decoding in the workloads: the most that any codec can save of replays, and about what decoding
/// takes of the user's own git, which also sets up a stream for each object. It is no limit where `saves_more`:
/// numbers also save look-ups.
pub(super) fn decoding(
    replayed: impl Iterator<Item = f64> + Clone,
    own: impl Iterator<Item = f64> + Clone,
    saves_more: bool,
) -> Option<AdviceLine> {
    let replayed = range(replayed)?;
    let own = range(own).map(|own| format!(", {own} of your git's")).unwrap_or_default();
    let limit = if saves_more { "" } else { " (the limit)" };
    Some(AdviceLine::new("Decoding", format!("{replayed} of replays' CPU time{limit}{own}.")))
}

/// `16 to 93 %`; `None` of none.
fn range(shares: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let least = shares.clone().reduce(f64::min)?;
    let most = percent(shares.reduce(f64::max)?, 0);
    Some(if percent(least, 0) == most { most } else { format!("{:.0} to {most}", 100.0 * least) })
}

/// Who cannot read the best codec, and the CPU seconds that a clone for other clients takes the server, `about` or `at
/// most`, if they are known. git does not keep deltas that it cannot copy, so it searches for new ones.
pub(super) fn price(advice: &Advice<'_>, vcs: Option<Vcs>, sending: Option<(&str, f64)>) -> Option<AdviceLine> {
    let program = if vcs == Some(Vcs::Mercurial) { "hg" } else { "git" };
    let text = match advice.best?.readers? {
        Readers::Stock => format!("none; stock {program} reads it."),
        _ => {
            let took = sending.map(|(about, took)| format!("takes {about} {} of CPU time", seconds(took)));
            let took = took.unwrap_or_else(|| "is encoded anew".to_owned());
            format!("{program} needs `exec`; a clone by others {took}.")
        }
    };
    Some(AdviceLine::new("Price", text))
}

/// `, CPU time ±3.1 %`: the half-width of the interval of the best codec's time. Empty if there is none.
pub(super) fn time_error(advice: &Advice<'_>) -> String {
    let known = advice.best.and_then(|best| {
        let name = if best.cpu.is_some() { "CPU time" } else { "elapsed time" };
        Some((best.cpu.or(best.elapsed)?, name))
    });
    match known {
        // The error of what is called undecided says nothing.
        Some((time, name)) if time.is_decided() && time.high > time.low => {
            format!(", {name} ±{}", percent((time.high - time.low) / 2.0 / time.ratio, 1))
        }
        _ => String::new(),
    }
}

/// What writing everything under the best codec costs, and what leads back to the codec that is there.
pub(super) fn writing(advice: &Advice<'_>) -> Option<AdviceLine> {
    let best = advice.best?;
    let took = best.writing_seconds.map(|took| format!("{} of CPU time", seconds(took)));
    let memory = best.writing_memory.map(|bytes| format!("{} MB a thread", megabytes(bytes)));
    let costs: Vec<String> = took.into_iter().chain(memory).collect();
    let costs = if costs.is_empty() { String::new() } else { costs.join(", ") + "; " };
    let back = advice.reference.unwrap_or("zlib:6");
    Some(AdviceLine::new("Writing", format!("{costs}back by `convert --codec {back}`.")))
}

/// Whether to change. `undecided` says of a gain that may be too small why that is open.
pub(super) fn verdict(advice: &Advice<'_>, context: Context, undecided: &str) -> AdviceLine {
    let time = if advice.best.is_some_and(|best| best.cpu.is_none()) { "elapsed time" } else { "CPU time" };
    let thresholds = format!("{} of size or {} of {time}", percent(SIZE_THRESHOLD, 0), percent(TIME_THRESHOLD, 0));
    let program = context.program();
    let left_out = advice.left_out;
    let is_change = advice.verdict == CodecVerdict::Change;
    let read_by = left_out.unread.map(|_| format!(" that {program} reads")).unwrap_or_default();
    let at_no_cost = if left_out.costly.is_some() { " at no greater cost" } else { "" };
    let text = match (advice.verdict, advice.best) {
        (CodecVerdict::Change, Some(best)) => format!("change to {} (threshold: {thresholds}).", name(&best)),
        (CodecVerdict::Open, Some(best)) => {
            format!("open: {} may save {thresholds}; {undecided}.", name(&best))
        }
        (CodecVerdict::TooSmall, _) => {
            format!("too small to matter: no codec{read_by} saves {thresholds}{at_no_cost}.")
        }
        (CodecVerdict::SmallRepository, _) => {
            format!("too small to matter: a repository of less than {} MB.", REPOSITORY_THRESHOLD / 1_000_000)
        }
        _ => format!("stay: no codec of about this size{read_by} is certain to save anything{at_no_cost}."),
    };
    let names_others = matches!(advice.verdict, CodecVerdict::TooSmall | CodecVerdict::Stay);
    // Beside a change, only what saves more is worth naming.
    let saves_more = |of: &CodecGain<'_>| advice.best.is_none_or(|best| of.product() < best.product());
    let unread = left_out.unread.filter(|gain| names_others || is_change && saves_more(gain));
    let costly = left_out.costly.filter(|_| names_others);
    let named = [(unread, "Only repackbench reads"), (costly, "Not advised:")];
    let named = named.into_iter().filter_map(|(gain, why)| Some(format!(" {why} {}.", context.effect(&gain?))));
    AdviceLine::new("Verdict", text + &named.collect::<String>())
}

/// How it was measured, and what confirms it, with deltas that were searched for if the answer is about those.
fn method(found: &BenchAdvice<'_>, comparisons: &[&WorkloadComparison]) -> AdviceLine {
    let advice = &found.advice;
    let rechosen = if found.searched.is_some() { " --rechosen" } else { "" };
    let pairs = || comparisons.iter().flat_map(|comparison| &comparison.rows).filter_map(|row| Some(row.ratio?.pairs));
    let blocks = match (pairs().min(), pairs().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} blocks"),
        (_, most) => counted(most.unwrap_or_default() as u64, "block", "blocks"),
    };
    let missing = |comparison: &&&WorkloadComparison| comparison.baseline()?.counts.get("missing").copied();
    let missing = comparisons.iter().filter_map(|comparison| missing(&comparison)).max().filter(|count| *count > 0);
    let missing = missing.map(|count| format!(", {} skipped", counted(count, "missing object", "missing objects")));
    let confirm = advice.best.map(|best| {
        let is_stock = comparisons.iter().any(|comparison| comparison.workload.client().is_some());
        let client = if is_stock { " --client stock" } else { "" };
        let zlib = best.client.and_then(Client::other_zlib).map(|zlib| format!(" --zlib {zlib}")).unwrap_or_default();
        format!("; `bench --precise{client}{zlib}{rechosen} --codec {}` confirms it", plain_text(&best.spec.typed))
    });
    let error = time_error(advice);
    let text = format!("{blocks}{error}{}{}.", missing.unwrap_or_default(), confirm.unwrap_or_default());
    AdviceLine::new("Measured", text)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        ChunkForm, ChunkSizes, ClientKind, ConversionCost, DeltaOrigin, ObjectKind, OwnGitCost, RatioInterval,
        SpecText, WorkloadLabel, fixtures::comparison,
    };

    use super::*;
    use crate::fixtures::{estimate, row};

    fn lines(deltas: DeltaOrigin) -> Vec<String> {
        let candidate = |spec: &str, ratio: f64, bytes, readers| {
            let mut row = row(Role::Candidate, spec, 100, Some(estimate(ratio, ratio - 0.01, ratio + 0.01)), bytes);
            (row.variant.readers, row.variant.deltas) = (Some(readers), deltas);
            row
        };
        let rows = vec![
            row(Role::Baseline, "zlib:6", 100, None, 10_000_000),
            candidate("zlib:6", 0.9, 7_000_000, Readers::Stock),
            candidate("libdeflate:9", 0.8, 6_930_000, Readers::Stock),
            candidate("zstd:9", 0.6, 5_950_000, Readers::Exec),
        ];
        let mut workload = comparison("traverse", rows, Some(estimate(1.0, 0.995, 1.005)));
        for (row, seconds) in workload.rows.iter_mut().zip(1..) {
            row.conversion = Some(ConversionCost {
                cpu_ns: seconds * 1_000_000_000,
                search_ns: (row.variant.deltas == DeltaOrigin::Recomputed).then_some(434_000_000),
                search_peak_bytes: Some(40_000_000),
                encode_memory_bytes: Some(3_500_000),
                ..ConversionCost::default()
            });
        }
        workload.rows[0].decode_share = Some(0.5);
        let graph = RatioInterval { low: 0.4, high: 0.5, coverage: 0.95 };
        let graph_ratio = Some(Predicted { value: 0.45, interval: Some(graph) });
        workload.rows[0].own_git = Some(OwnGitCost { decode_share: 0.2, graph_ratio, graph_elapsed_ratio: None });
        workload.repository.vcs = Some(Vcs::Git);
        let chunks = ChunkSizes { entries: 9_000, stored_bytes: 9_000_000, payload_bytes: 20_000_000 };
        *workload.rows[0].size.objects.get_mut(ObjectKind::Blob, ChunkForm::Whole) = chunks;
        measured(&workload.repository.clone(), &[&workload]).iter().map(AdviceLine::to_string).collect()
    }

    #[test]
    fn codecs_come_after_deltas() {
        let lines = lines(DeltaOrigin::Recomputed);
        // The second line has the times of a commit-graph as well, and the last one a command.
        let long: Vec<&str> = lines.iter().filter(|line| line.chars().count() > 80).map(|line| &line[..4]).collect();
        assert_eq!(long, ["Same", "Meas"], "{lines:#?}");
        assert_eq!(
            lines,
            [
                "Do first: `git repack -adFk`: 9,000 objects, 10.0 MB become 7.00 MB in 434 ms.",
                "Same format then: replays decoding by libdeflate:9: 11 % less CPU time; commit-graph: 55 % less CPU time in git's traverse.",
                "Best then: zstd:9: 15.0 % smaller; replays: 33 % less CPU time.",
                "Decoding: 50 % of replays' CPU time (the limit), 20 % of your git's.",
                "Price: git needs `exec`; a clone by others takes at most 2.00 s of CPU time.",
                "Writing: 2.00 s of CPU time, 3.50 MB a thread; back by `convert --codec zlib:6`.",
                "Verdict: change to zstd:9 (threshold: 5 % of size or 10 % of CPU time).",
                "Measured: 10 blocks, CPU time ±4.8 %; `bench --precise --rechosen --codec zstd:9` confirms it.",
            ]
        );
    }

    #[test]
    fn shares_and_bytes_are_those_of_the_codec_that_is_there() {
        let candidate = |spec: &str, ratio: f64, bytes| {
            let mut row = row(Role::Candidate, spec, 100, Some(estimate(ratio, ratio - 0.01, ratio + 0.01)), bytes);
            row.variant.readers = Some(Readers::Stock);
            row
        };
        let mut found = candidate("zlib:6", 0.8, 9_700_000);
        (found.variant.role, found.variant.spec) = (Role::AsFound, None);
        let rows = vec![
            row(Role::Baseline, "zlib:6", 100, None, 10_000_000),
            candidate("zstd:19", 0.6, 9_000_000),
            candidate("zstd:9", 0.79, 9_500_000),
            found,
        ];
        let mut workload = comparison("traverse", rows, Some(estimate(1.0, 0.995, 1.005)));
        workload.rows[0].decode_share = Some(0.6);
        (workload.repository.vcs, workload.repository.bytes) = (Some(Vcs::Mercurial), Some(9_700_000));
        workload.repository.codec = Some("zstd".to_owned());
        let lines = measured(&workload.repository.clone(), &[&workload]);
        let said: Vec<String> = lines.iter().map(AdviceLine::to_string).collect();
        let has = |part: &str| assert!(said.iter().any(|said| said.contains(part)), "{part}: {said:#?}");
        has(" chunks, 9.70 MB; ");
        // What does not decode takes 0.4 of the time under zlib:6, and as long under the other.
        has("Decoding: 50 % of replays' CPU time");
        has("Best: zstd:19: ");
        assert!(!said.iter().any(|said| said.starts_with("Same format")), "the best needs none: {said:#?}");
    }

    #[test]
    fn client_with_another_zlib_is_named() {
        let client = |zlib: &str| Client {
            kind: ClientKind::Stock,
            program: "git".into(),
            version: "git version 2.47.3".into(),
            library: true,
            zlib: zlib.into(),
            helps: Vec::new(),
        };
        let mut other = row(Role::Candidate, "zlib:6", 80, Some(estimate(0.8, 0.79, 0.81)), 10_000_000);
        (other.variant.readers, other.variant.client) = (Some(Readers::Stock), Some(client("libdeflate")));
        let rows = vec![row(Role::Baseline, "zlib:6", 100, None, 10_000_000), other];
        let mut workload = comparison("traverse", rows, Some(estimate(1.0, 0.995, 1.005)));
        workload.workload.parameters.insert(WorkloadLabel::CLIENT.into(), "git".into());
        let lines = measured(&workload.repository.clone(), &[&workload]);
        let said: Vec<String> = lines.iter().map(AdviceLine::to_string).collect();
        let has = |line: &str| assert!(said.iter().any(|said| said.starts_with(line)), "{line}: {said:#?}");
        has("Best: zlib:6, read by git + libdeflate: about the same size; git: 20 % less CPU time.");
        has("Verdict: change to zlib:6, read by git + libdeflate (threshold: ");
        let confirm = "`bench --precise --client stock --zlib libdeflate --codec zlib:6` confirms it";
        assert!(said.last().is_some_and(|said| said.contains(confirm)), "{said:#?}");
    }

    #[test]
    fn commit_graph_is_named_if_it_certainly_saves_cpu_time() {
        let of = |value: f64, error: f64| {
            let interval = Some(RatioInterval { low: value - error, high: value + error, coverage: 0.95 });
            Some(Predicted { value, interval })
        };
        let words = |cpu, elapsed| GraphTimes { cpu, elapsed }.words();
        let said = |times: &str| Some(format!("commit-graph: {times} in git's traverse"));
        assert_eq!(words(of(0.4, 0.1), of(0.7, 0.1)), said("60 % less CPU time, 30 % less elapsed time"));
        assert_eq!(words(of(0.4, 0.1), of(0.4, 0.1)), said("60 % less CPU and elapsed time"));
        assert_eq!(words(of(0.4, 0.1), of(0.415, 0.1)), said("about 60 % less CPU and elapsed time"));
        assert_eq!(words(of(0.4, 0.1), of(0.9, 0.3)), said("60 % less CPU time"), "elapsed time may be anything");
        assert_eq!([words(of(0.9, 0.2), None), words(of(0.3, 0.4), None), words(None, None)], [None, None, None]);
    }

    #[test]
    fn only_what_is_certain_is_claimed() {
        let spec = SpecText { typed: "zstd:9".into(), canonical: "zstd:9".into() };
        let of = |size: [f64; 2], cpu: [f64; 2], elapsed: [f64; 2]| {
            let [size, cpu, elapsed] =
                [size, cpu, elapsed].map(|[low, high]| BoundedRatio { ratio: (low * high).sqrt(), low, high });
            let (cpu, elapsed) = (Some(cpu), Some(elapsed));
            let gain = CodecGain {
                spec: &spec,
                readers: None,
                client: None,
                size,
                cpu,
                elapsed,
                writing_seconds: None,
                writing_memory: None,
            };
            let context = Context { vcs: None, is_replayed: false, is_searched: false };
            context.effect(&gain)
        };
        let wide = [0.5, 1.5];
        assert_eq!(
            of([0.9, 0.9], [0.97, 1.03], wide),
            "zstd:9: 10.0 % smaller; git: about the same CPU time, elapsed time undecided"
        );
        assert_eq!(of(wide, wide, [0.0, f64::INFINITY]), "zstd:9: size undecided; git: CPU and elapsed time undecided");
        assert_eq!(
            of([1.0, 1.0], [0.5, 0.5], [0.5, 0.5]),
            "zstd:9: about the same size; git: 50 % less CPU and elapsed time"
        );
    }

    #[test]
    fn search_that_was_not_made_has_a_price() {
        let lines = lines(DeltaOrigin::Kept);
        assert_eq!(lines[0], "Deltas: 9,000 objects, 10.0 MB; new ones (`--rechosen`): about 2.67 s of CPU time.");
        assert!(lines[2].starts_with("Best: zstd:9: 40.5 % smaller; replays: 40 % less CPU time"), "{lines:?}");
    }
}
