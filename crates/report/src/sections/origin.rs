//! Where the figures come from: commands, machines, versions, sessions.

mod date;

use std::collections::{BTreeMap, BTreeSet};

use repackbench_analysis::{ERROR_RATE, Results};
use repackbench_records::{Host, Record, Storage, WorkloadLabel};

use self::date::date_and_time;
use crate::{
    document::{Column, Table},
    number::{counted, megabytes, percent, thousands},
};

/// Everything needed to repeat the measurements.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) commands: Vec<String>,
    pub(crate) machines: Vec<Machine>,
    /// One row for each session.
    pub(crate) sessions: Table,
    /// How times are measured and compared; empty where there are none.
    pub(crate) method: &'static [&'static str],
    /// The program's versions.
    pub(crate) programs: String,
}

/// A machine and the known facts about it.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) facts: Vec<(&'static str, String)>,
}

pub(crate) fn origin(results: &Results) -> Origin {
    Origin {
        commands: commands(results),
        machines: machines(results),
        sessions: sessions(&results.runs),
        method: if results.comparisons.is_empty() { &[] } else { &METHOD },
        programs: programs(results),
    }
}

/// Each command once, in the order of the results.
pub(crate) fn commands(results: &Results) -> Vec<String> {
    let runs = results.runs.iter().map(|run| &run.command);
    let traces = results.traces.iter().map(|trace| &trace.command);
    let chains = results.chains.iter().map(|chains| &chains.command);
    let device_checks = results.device_checks.iter().map(|check| &check.command);
    let memory_checks = results.memory_checks.iter().map(|check| &check.command);
    let sizes = results.sizes.iter().map(|size| &size.command);
    let experiments = results.experiments.iter().map(|experiment| &experiment.command);
    let read = traces.chain(chains).chain(device_checks).chain(memory_checks);
    distinct(runs.chain(read).chain(sizes).chain(experiments).flatten().cloned())
}

/// Each text once, in order of appearance.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// The machine and method of the runs, in one sentence; `None` without runs.
pub(crate) fn measured_on(runs: &[Record]) -> Option<String> {
    let hosts = distinct(runs.iter().map(|run| host_words(&run.host)));
    let versions = distinct(runs.iter().map(|run| run.program_version.clone()));
    let blocks: BTreeSet<_> = runs.iter().map(|run| (run.place.block_id(), &run.workload)).collect();
    (!runs.is_empty()).then(|| {
        format!(
            "Measured on {} with repackbench {}: {} runs in {} random blocks, the baseline twice in each; ratios are medians of \
             pairs within a block, and verdicts are corrected for all of them together at {} (Holm).",
            hosts.join("; "),
            versions.join(", "),
            thousands(runs.len() as u64),
            thousands(blocks.len() as u64),
            percent(ERROR_RATE, 0),
        )
    })
}

/// A machine and its kernel in a few words.
fn host_words(host: &Host) -> String {
    let mut parts = vec![host.cpu_model.clone().unwrap_or_else(|| "an unknown processor".to_owned())];
    parts.extend(host.cores.map(|cores| counted(cores.into(), "core", "cores")));
    parts.extend(host.kernel.clone());
    parts.extend((host.virtualised == Some(true)).then(|| "virtualised".to_owned()));
    parts.join(", ")
}

fn programs(results: &Results) -> String {
    let runs = results.runs.iter().map(|run| run.program_version.as_str());
    let traces = results.traces.iter().map(|trace| trace.program_version.as_str());
    let sizes = results.sizes.iter().map(|size| size.program_version.as_str());
    let chains = results.chains.iter().map(|chains| chains.program_version.as_str());
    let device_checks = results.device_checks.iter().map(|check| check.program_version.as_str());
    let memory_checks = results.memory_checks.iter().map(|check| check.program_version.as_str());
    let checks = device_checks.chain(memory_checks);
    let versions: BTreeSet<&str> = runs.chain(traces).chain(chains).chain(checks).chain(sizes).collect();
    versions.into_iter().map(|version| format!("repackbench {version}")).collect::<Vec<_>>().join(", ")
}

fn machines(results: &Results) -> Vec<Machine> {
    let mut hosts: Vec<(&Host, Vec<&Record>)> = Vec::new();
    for run in &results.runs {
        match hosts.iter_mut().find(|(host, _)| host.machine() == run.host.machine()) {
            Some((_, of_host)) => of_host.push(run),
            None => hosts.push((&run.host, vec![run])),
        }
    }
    // Machines that only have results of experiments.
    for host in results.experiments.iter().map(|experiment| &experiment.host) {
        if !hosts.iter().any(|(known, _)| known.machine() == host.machine()) {
            hosts.push((host, Vec::new()));
        }
    }
    let count = hosts.len();
    hosts
        .into_iter()
        .map(|(host, runs)| Machine {
            name: if count == 1 { "Machine".to_owned() } else { host.description() },
            facts: if runs.is_empty() { facts(&[host], &[]) } else { facts(&hosts_of(&runs), &runs) },
        })
        .collect()
}

/// The distinct states of a machine during some runs.
fn hosts_of<'a>(runs: &[&'a Record]) -> Vec<&'a Host> {
    let mut hosts: Vec<&Host> = Vec::new();
    for run in runs {
        if !hosts.contains(&&run.host) {
            hosts.push(&run.host);
        }
    }
    hosts
}

/// The known facts about the machine of some runs. Storage and software may differ between sessions; all values are
/// listed.
fn facts(hosts: &[&Host], runs: &[&Record]) -> Vec<(&'static str, String)> {
    let known = |fact: fn(&Host) -> Option<String>| {
        let facts = distinct(hosts.iter().filter_map(|host| fact(host)));
        (!facts.is_empty()).then(|| facts.join("; "))
    };
    let decoders: BTreeSet<&str> = runs.iter().map(|run| run.decoder.as_str()).collect();
    let libraries: BTreeSet<String> = hosts
        .iter()
        .flat_map(|host| host.libraries.iter().map(|(name, version)| format!("{name} {version}")))
        .collect();
    let started = || runs.iter().map(|run| run.started_unix_ms);
    let when = match (started().min(), started().max()) {
        (Some(first), Some(last)) if date_and_time(first) != date_and_time(last) => {
            Some(format!("{} to {}", date_and_time(first), date_and_time(last)))
        }
        (first, _) => first.map(date_and_time),
    };
    let joined = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join(", "));
    [
        ("Processor", known(|host| host.cpu_model.clone())),
        ("Cores", known(|host| host.cores.map(|cores| cores.to_string()))),
        ("Memory", known(|host| host.memory_bytes.map(|bytes| format!("{} MB", megabytes(bytes))))),
        ("Hypervisor", known(|host| host.virtualised.map(|is| if is { "yes" } else { "no" }.to_owned()))),
        ("Kernel", known(|host| host.kernel.clone())),
        ("Source on", known(|host| host.source_storage.as_ref().and_then(storage))),
        ("Variants on", known(|host| host.variant_storage.as_ref().and_then(storage))),
        ("git", known(|host| host.git.clone())),
        ("hg", known(|host| host.hg.clone())),
        ("Decoders", joined(decoders.into_iter().map(str::to_owned).collect())),
        ("Libraries", joined(libraries.into_iter().collect())),
        ("When", when),
    ]
    .into_iter()
    .filter_map(|(name, fact)| Some((name, fact?)))
    .collect()
}

fn storage(storage: &Storage) -> Option<String> {
    let mut parts: Vec<String> = storage.file_system.iter().cloned().collect();
    parts.extend((storage.has_journal == Some(false)).then(|| "no journal".to_owned()));
    parts.extend(storage.rotational.map(|is| if is { "hard disk" } else { "no platters" }.to_owned()));
    parts.extend(storage.readahead_bytes.map(|bytes| format!("readahead {} kB", thousands(bytes / 1000))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The runs of one session on one repository.
#[derive(Default)]
struct RecordedSession<'a> {
    began: u64,
    seeds: BTreeSet<u64>,
    workloads: BTreeMap<&'a WorkloadLabel, BTreeSet<u32>>,
    runs: u64,
}

fn sessions(runs: &[Record]) -> Table {
    let mut sessions: BTreeMap<(u64, &str), RecordedSession<'_>> = BTreeMap::new();
    for run in runs {
        let session = sessions.entry((run.place.session, &run.repository.name)).or_default();
        let began = if run.place.session > 0 { run.place.session } else { run.started_unix_ms };
        session.began = if session.runs == 0 { began } else { session.began.min(began) };
        session.seeds.insert(run.place.seed);
        session.workloads.entry(&run.workload).or_default().insert(run.place.block);
        session.runs += 1;
    }
    let mut table = Table::new([
        Column::words("session began"),
        Column::words("repository"),
        Column::words("seed"),
        Column::numbers("workloads"),
        Column::numbers("blocks"),
        Column::numbers("runs"),
    ]);
    for ((_, repository), session) in &sessions {
        let blocks = || session.workloads.values().map(BTreeSet::len);
        let blocks = match (blocks().min().unwrap_or(0), blocks().max().unwrap_or(0)) {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        table.row([
            date_and_time(session.began),
            (*repository).to_owned(),
            session.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
            session.workloads.len().to_string(),
            blocks,
            thousands(session.runs),
        ]);
    }
    table.captioned("Times are in UTC")
}

/// The method of measuring.
const METHOD: [&str; 5] = [
    "A variant is the same repository with every stored object compressed again and each delta on its own base, so that the codec is the \
     only difference. Exceptions are rows called rechosen, whose deltas hg searched again, and rows that name a store or an order, whose \
     objects are at other places on disk.",
    "A block runs every variant once and the baseline twice, in a random order that the seed determines, after one block that is thrown \
     away.",
    "A time ratio is the median over blocks of a variant's time divided by the geometric mean of the baseline's two times in the same \
     block. Its interval contains the true median with a probability of at least 95\u{a0}% (for cold runs the mean over copies, as \
     precisely as so few copies allow).",
    "A variant is only called faster or slower beyond the noise floor, which is the distance between the baseline's two runs and at least \
     1\u{a0}%, and after a correction for the number of ratios.",
    "No run is left out and nothing is subtracted. Variants that do not decode to the same content stop the measurement. Sizes are the \
     lengths of all files of a repository.",
];
