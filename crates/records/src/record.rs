//! One run and everything needed to interpret it.

use std::{borrow::Cow, collections::BTreeMap, fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Checks, ChosenDeltaCache, ChosenLayout, Client, DeltaCacheUse, Disturbance, Host, Predicted, RequestTimes,
    RunUsage, SizeRecord, TracedReads,
};

/// The schema version of [`Record`]. It increases when an older reader would misread a record.
///
/// Version 2 added resources, disturbances and checks. Version 3 compares workloads that write files by other times:
/// [`ComparedTime::CpuWithoutWriting`] and [`ComparedTime::UserOfCommand`] replaced [`ComparedTime::User`]. All
/// versions are read.
pub const SCHEMA_VERSION: u32 = 3;

/// The oldest version that is still read. Fields that its records lack have default values.
pub const OLDEST_SCHEMA_VERSION: u32 = 1;

/// One run of one workload on one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The schema version; [`SCHEMA_VERSION`] for new records.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// When the run started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The machine.
    pub host: Host,
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// The variant that was read.
    pub variant: Variant,
    /// Name and version of the implementation that decoded, as in `zlib 1.3.1 (stock)`.
    pub decoder: String,
    /// The workload.
    pub workload: WorkloadLabel,
    /// The time that is compared between variants; the workload decides.
    pub compared_time: ComparedTime,
    /// The place of the run in the schedule.
    pub place: RunPlace,
    /// The times of the run.
    pub sample: SampleRecord,
    /// Memory, page faults and read calls. Empty in records of version 1.
    #[serde(default)]
    pub usage: RunUsage,
    /// What else the machine did. Empty in records of version 1.
    #[serde(default)]
    pub disturbance: Disturbance,
    /// Hits and misses of the cache of delta bases; `None` in records of version 1.
    #[serde(default)]
    pub delta_cache: Option<DeltaCacheUse>,
    /// What reading checked, and which features sped it up; `None` in records of version 1.
    #[serde(default)]
    pub checks: Option<Checks>,
    /// The number of copies of the workload that ran at once, each in its own thread. `sample` then holds the mean CPU
    /// time of a copy, and the elapsed time until the last copy ended.
    #[serde(default = "one")]
    pub jobs: u32,
    /// The number of times that the job was done; `sample` holds the mean over them, `counts` the counts of one.
    pub iterations: u32,
    /// Counts by name: `objects`, `bytes`, `commits`, `changes`, `hits`, `missing` and the like. A workload
    /// names its own counters; two variants of one repository must agree on all of them.
    pub counts: BTreeMap<String, u64>,
    /// Counts that legitimately differ between variants, such as the stored bytes that were sent.
    #[serde(default)]
    pub extra: BTreeMap<String, u64>,
    /// The digest of all content that the workload decoded in its untimed pass.
    pub digest: ContentDigest,
    /// Where the variant's bytes on disk go.
    pub size: SizeRecord,
    /// The cost of converting the variant, at any earlier time; `None` for the repository as found, and if unknown.
    /// Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<ConversionCost>,
    /// The command that measured, quoted for a shell. Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The share of the CPU time that decoding takes, measured by replays with every payload remembered. Only the baseline
    /// in sessions that are fitted to a time has one. Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_share: Option<f64>,
    /// What the user's own git takes for the same. As `decode_share`; omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_git: Option<OwnGitCost>,
    /// What the workload reads from the variant's files. `None`, and omitted from JSON, without an access trace and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<TracedReads>,
    /// The requests that the run answered one after the other. `None`, and omitted from JSON, for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestTimes>,
}

/// What the user's own git takes for a workload that is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnGitCost {
    /// The share of its CPU time that decoding the same chunks takes.
    pub decode_share: f64,
    /// Its CPU time with a commit-graph, as a multiple of the time without. Omitted from JSON if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_ratio: Option<Predicted>,
    /// The same for elapsed time. Omitted from JSON in older records, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_elapsed_ratio: Option<Predicted>,
}

/// The cost of converting a whole repository: reading the source, encoding, and checking the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversionCost {
    /// CPU time of all threads and started programs, in nanoseconds.
    pub cpu_ns: u64,
    /// Elapsed time, in nanoseconds.
    pub wall_ns: u64,
    /// The elapsed time of the search for deltas in it, in nanoseconds. Omitted from JSON if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_ns: Option<u64>,
    /// The most memory that the search held, in bytes. Omitted from JSON if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_peak_bytes: Option<u64>,
    /// The bytes of contexts and dictionaries of one thread that encodes. Omitted from JSON if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_memory_bytes: Option<u64>,
}

fn one() -> u32 {
    1
}

/// A version-control system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Vcs {
    /// Git.
    Git,
    /// Mercurial.
    Mercurial,
}

/// A repository and its measured state.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryState {
    /// A short name for people, usually the last part of its path.
    pub name: String,
    /// A hexadecimal hash over its refs and stored files: the same value means the same input.
    pub fingerprint: String,
    /// The hexadecimal id of the revision that workloads start from; `None` if no workload needs one.
    pub head: Option<String>,
    /// Its version-control system; `None` in records of version 1, like the fields below.
    #[serde(default)]
    pub vcs: Option<Vcs>,
    /// The hexadecimal id of HEAD or the tip; `None` also if there is none.
    #[serde(default)]
    pub tip: Option<String>,
    /// The number of stored objects or revisions; an object that is stored twice counts twice.
    #[serde(default)]
    pub objects: Option<u64>,
    /// Its bytes on disk, as found.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Whether it is a partial clone, in which git itself searches for deltas without file names. Left out of the JSON form where
    /// it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial_clone: bool,
    /// Whether some of its objects are in other repositories, which `objects/info/alternates` names. Left out of the
    /// JSON form where it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borrows_objects: bool,
    /// What it writes if that is not zlib: the canonical spec of a variant, or in Mercurial the name of its compression,
    /// such as `zstd`. Left out of the JSON form where it is zlib.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
}

/// The role of a variant in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The source repository, untouched.
    AsFound,
    /// The variant that the others are compared with (A).
    Baseline,
    /// The baseline's second run in a block (A'): it reads the same files again, so that its distance from A is noise.
    BaselineAgain,
    /// A variant that is compared with the baseline.
    Candidate,
}

/// One repository under one codec spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Its role in the comparison.
    pub role: Role,
    /// Its row in a table, counted from 0: as found, baseline, then candidates as they were typed.
    pub row: u32,
    /// Its spec; `None` for the repository as found.
    pub spec: Option<SpecText>,
    /// The name of this row in a self-test, which measures one variant under several names. Left out of the JSON form where it is
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test_name: Option<String>,
    /// Whether every chunk carries a checksum that reading checks. Variants without one do less work than the
    /// baseline, so tables label them.
    pub checksum: bool,
    /// Where its deltas come from.
    #[serde(default)]
    pub deltas: DeltaOrigin,
    /// How many objects git compared each with in its search for deltas, if the user chose that. Omitted from JSON if
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_window: Option<u32>,
    /// The implementation that the user chose to read it; `None` for the default of its spec. Omitted from JSON if
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<ChosenDecoder>,
    /// The limit of the cache of delta bases, in rows that differ from others only in that; `None` for the baseline's
    /// limit. Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_cache: Option<ChosenDeltaCache>,
    /// The user's program that read it. `None` if this program read it in-process, as in all older records; then
    /// omitted from JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Its layout on disk, if it differs from its source. Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<ChosenLayout>,
    /// Who reads it. `None`, and omitted from JSON, for the repository as found and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Readers>,
}

/// Who reads a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Readers {
    /// The stock program.
    Stock,
    /// The user's own git with a preloaded library, or hg with the extension, under `exec`.
    Exec,
    /// Only this program.
    Repackbench,
}

/// The implementation that the user chose for a format that several can read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChosenDecoder {
    /// The format: `zlib` or `lz4`.
    pub format: String,
    /// The codec whose decoder is used, as in `libdeflate`.
    pub implementation: String,
}

/// Where a variant's deltas come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeltaOrigin {
    /// The source's deltas: the codec is the only difference.
    #[default]
    Kept,
    /// Searched again: by stock hg under the codec, using the lengths of compressed chains, or by stock git,
    /// independently of the codec.
    #[serde(rename = "rechosen")]
    Recomputed,
}

/// What distinguishes a variant from the others of its repository: see [`Variant::identity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIdentity<'a> {
    /// Its part in the comparison.
    pub role: Role,
    /// Its spec in the canonical spelling; `None` for the repository as found.
    pub spec: Option<&'a str>,
    /// Its name in a self-test.
    pub self_test_name: Option<&'a str>,
    /// Where its deltas come from.
    pub deltas: DeltaOrigin,
    /// The window of the search for them, if the user chose it.
    pub delta_window: Option<u32>,
    /// The implementation that was chosen to read it.
    pub decoder: Option<&'a ChosenDecoder>,
    /// The limit of the cache of delta bases, if it differs from the baseline's.
    pub delta_cache: Option<ChosenDeltaCache>,
    /// The user's program that read it.
    pub client: Option<&'a Client>,
    /// How it is laid out on disk, if not like its source.
    pub layout: Option<&'a ChosenLayout>,
}

impl Variant {
    /// What distinguishes it from the others of its repository. Its row, which differs between sessions, and the
    /// spelling of its spec are not part of that.
    pub fn identity(&self) -> VariantIdentity<'_> {
        VariantIdentity {
            role: self.role,
            spec: self.spec.as_ref().map(|spec| spec.canonical.as_str()),
            self_test_name: self.self_test_name.as_deref(),
            deltas: self.deltas,
            delta_window: self.delta_window,
            decoder: self.decoder.as_ref(),
            delta_cache: self.delta_cache,
            client: self.client.as_ref(),
            layout: self.layout.as_ref(),
        }
    }

    /// The name of this variant's row: the spec as typed, or `as found`; its name in a self-test; the chosen decoder;
    /// whether deltas were searched again; the chosen layout; the limit of the cache if it differs from the baseline's;
    /// and the user's program, if one read it.
    pub fn label(&self) -> Cow<'_, str> {
        let mut label = Cow::Borrowed(self.spec.as_ref().map_or("as found", |spec| spec.typed.as_str()));
        if let Some(name) = &self.self_test_name {
            label.to_mut().push_str(&format!(" #{name}"));
        }
        if let Some(decoder) = &self.decoder {
            label.to_mut().push_str(&format!(" by {}", decoder.implementation));
        }
        if self.spec.is_some() && self.deltas == DeltaOrigin::Recomputed {
            label.to_mut().push_str(", rechosen");
        }
        if let Some(window) = self.delta_window {
            label.to_mut().push_str(&format!(" with window {window}"));
        }
        if let Some(layout) = &self.layout {
            label.to_mut().push_str(&format!(", {layout}"));
        }
        if let Some(cache) = &self.delta_cache {
            label.to_mut().push_str(&format!(", cache {cache}"));
        }
        if let Some(client) = &self.client {
            label.to_mut().push_str(&format!(" · {client}"));
        }
        label
    }

    /// Moves the name of a self-test's row to its own field. Older programs wrote it as a comment on the spec: `zlib:6 #1`.
    pub(crate) fn separate_self_test_name(&mut self) {
        if let Some(spec) = &mut self.spec
            && let Some((typed, name)) = spec.typed.split_once(" #")
        {
            self.self_test_name = Some(name.to_owned());
            spec.typed = typed.to_owned();
        }
    }
}

/// A codec spec in both spellings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SpecText {
    /// As typed.
    pub typed: String,
    /// With an explicit level, sorted options and without defaults: specs with the same meaning have the same text.
    pub canonical: String,
}

/// The name and parameters of a workload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadLabel {
    /// Its name, as in `diff:pickaxe`.
    pub name: String,
    /// Its parameters by name, as in `needle` = `foo`.
    pub parameters: BTreeMap<String, String>,
}

/// The prefix of the name of a floor; the name of its workload follows.
const FLOOR: &str = "floor:";

impl WorkloadLabel {
    /// The parameter that names the stock client of the job.
    pub const CLIENT: &str = "client";
    /// The string that `diff:pickaxe` looks for where the user names none.
    pub const DEFAULT_NEEDLE: &str = "foo";
    /// The parameter that names the caches of a stock client, if they are on.
    pub const CACHES: &str = "caches";
    /// The parameter that holds the number of newest commits that the workload is limited to.
    pub const COMMITS: &str = "commits";
    /// The parameter that says whether the page cache was [cold](Self::is_cold).
    const CACHE: &str = "cache";
    /// The value of [`Self::CACHE`] for runs from an empty page cache.
    const COLD: &str = "cold";

    /// The stock client that ran the workload; `None` for a replay.
    pub fn client(&self) -> Option<&str> {
        self.parameters.get(Self::CLIENT).map(String::as_str)
    }

    /// The caches that the stock client used; `None` if they were off.
    pub fn caches(&self) -> Option<&str> {
        self.parameters.get(Self::CACHES).map(String::as_str)
    }

    /// The number of newest commits that the workload was limited to, by the user or so that it fits the time; `None`
    /// for all of history.
    pub fn newest_commits(&self) -> Option<u64> {
        self.parameters.get(Self::COMMITS)?.parse().ok()
    }

    /// Whether each run starts with an empty page cache.
    pub fn is_cold(&self) -> bool {
        self.parameters.get(Self::CACHE).is_some_and(|cache| cache == Self::COLD)
    }

    /// This workload with an empty page cache before each run.
    pub fn cold(mut self) -> Self {
        self.parameters.insert(Self::CACHE.to_owned(), Self::COLD.to_owned());
        self
    }

    /// The workload whose codec calls this floor replays; `None` if this is not a floor.
    pub fn floor_of(&self) -> Option<&str> {
        self.name.strip_prefix(FLOOR)
    }
}

impl fmt::Display for WorkloadLabel {
    /// The name, then the parameters in brackets: `diff:pickaxe (needle=foo)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (number, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{name}={value}", if number == 0 { " (" } else { ", " })?;
        }
        if self.parameters.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// The place of a run in the schedule of random blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RunPlace {
    /// The block's number, counted from 0.
    pub block: u32,
    /// The run's position inside its block, counted from 0.
    pub position: u32,
    /// The seed of the random order.
    pub seed: u64,
    /// The session: when it began, in milliseconds since 1970-01-01 UTC. A resumed session keeps its number. Blocks of
    /// different sessions are unrelated, whatever their seeds.
    #[serde(default)]
    pub session: u64,
    /// The physical copy of the variant that was read, in cold runs. Omitted from JSON if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<u32>,
}

/// A session, told apart from all others: see [`RunPlace::session_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// When it began; 0 in records from before sessions had names.
    pub session: u64,
    /// The seed of its orders.
    pub seed: u64,
}

/// A block, told apart from those of other sessions: see [`RunPlace::block_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The session.
    pub session: SessionId,
    /// The block's number in it.
    pub block: u32,
}

impl RunPlace {
    /// The session of the run. Records from before sessions had names are told apart by their seeds only.
    pub fn session_id(&self) -> SessionId {
        SessionId { session: self.session, seed: self.seed }
    }

    /// The block of the run.
    pub fn block_id(&self) -> BlockId {
        BlockId { session: self.session_id(), block: self.block }
    }
}

/// The times of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleRecord {
    /// Elapsed time, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the measuring thread in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time of the measuring thread in the kernel, in nanoseconds.
    pub sys_ns: u64,
    /// The part of both CPU times that was spent writing files, each from before it is opened until it is closed, and
    /// creating their directories, in nanoseconds. `None`, and omitted from JSON, if it cannot be measured: in commands
    /// of the user's own client, and in records of versions 1 and 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing_ns: Option<u64>,
}

impl SampleRecord {
    /// A sample from durations, without the time of writing files. Durations saturate at 584 years.
    pub fn from_durations(wall: Duration, user: Duration, sys: Duration) -> Self {
        let (wall_ns, user_ns, sys_ns) = (nanoseconds(wall), nanoseconds(user), nanoseconds(sys));
        SampleRecord { wall_ns, user_ns, sys_ns, writing_ns: None }
    }

    /// The same with the time of writing files.
    pub fn with_writing(self, writing: Option<Duration>) -> Self {
        SampleRecord { writing_ns: writing.map(nanoseconds), ..self }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The time of a run that is compared between variants. Different kinds are never compared with each other.
///
/// Most kernels know the sum of user and system time exactly, and estimate the split from samples at timer ticks. So
/// the sum is the better time, except for workloads that write files: the kernel time of writing differs severalfold
/// between runs of the same work, and would hide the effect of the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedTime {
    /// User plus system time: for workloads that only read.
    Cpu,
    /// Only user time: for workloads that write files, in records of versions 1 and 2. For a short run it is a guess.
    User,
    /// Elapsed time: for several copies at once, and if waiting is measured.
    Wall,
    /// User plus system time without the time of writing files: for workloads that write files.
    CpuWithoutWriting,
    /// Only user time: for commands that write files, whose time of writing cannot be measured. It is meaningful for
    /// runs of many timer ticks.
    UserOfCommand,
}

impl ComparedTime {
    /// This time of `sample`, in nanoseconds. Sums saturate.
    pub fn nanoseconds(self, sample: &SampleRecord) -> u64 {
        let cpu = sample.user_ns.saturating_add(sample.sys_ns);
        match self {
            ComparedTime::Cpu => cpu,
            ComparedTime::User | ComparedTime::UserOfCommand => sample.user_ns,
            ComparedTime::Wall => sample.wall_ns,
            ComparedTime::CpuWithoutWriting => cpu.saturating_sub(sample.writing_ns.unwrap_or(0)),
        }
    }

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            ComparedTime::Cpu => "CPU time",
            ComparedTime::User => "user CPU time",
            ComparedTime::UserOfCommand => "user CPU time of the command",
            ComparedTime::Wall => "elapsed time",
            ComparedTime::CpuWithoutWriting => "CPU time without writing files",
        }
    }
}

/// A digest of decoded content. Equal digests by the same algorithm mean that two runs decoded the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentDigest {
    /// The algorithm, as in `sha256`.
    pub algorithm: String,
    /// The digest in lower-case hexadecimal.
    pub hex: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKind;

    #[test]
    fn workload_label_shows_parameters() {
        let mut label = WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() };
        assert_eq!(label.to_string(), "traverse");
        label.parameters.insert("rev".into(), "HEAD".into());
        label.parameters.insert("needle".into(), "foo".into());
        assert_eq!(label.to_string(), "traverse (needle=foo, rev=HEAD)");
    }

    #[test]
    fn variant_label_lists_spec_decoder_layout_and_client() {
        let spec = SpecText { typed: "zstd:05".into(), canonical: "zstd:5".into() };
        let deltas = DeltaOrigin::Kept;
        let (role, decoder) = (Role::Candidate, None);
        let mut variant = Variant {
            role,
            row: 2,
            spec: Some(spec),
            self_test_name: None,
            checksum: true,
            deltas,
            delta_window: None,
            decoder,
            delta_cache: None,
            client: None,
            layout: None,
            readers: None,
        };
        assert_eq!(variant.label(), "zstd:05");
        let plain = variant.clone();
        variant.layout = Some(ChosenLayout { store: "loose".into(), order: "source".into(), reference_deltas: false });
        assert_eq!(variant.label(), "zstd:05, loose");
        assert_ne!(variant.identity(), plain.identity());
        variant = Variant { self_test_name: Some("2".into()), ..plain.clone() };
        assert_eq!(variant.label(), "zstd:05 #2");
        assert_ne!(variant.identity(), plain.identity());
        variant = plain;
        variant.deltas = DeltaOrigin::Recomputed;
        assert_eq!(variant.label(), "zstd:05, rechosen");
        variant.decoder = Some(ChosenDecoder { format: "zlib".into(), implementation: "libdeflate".into() });
        assert_eq!(variant.label(), "zstd:05 by libdeflate, rechosen");
        let searched = Variant { delta_window: Some(250), ..variant.clone() };
        assert_eq!(searched.label(), "zstd:05 by libdeflate, rechosen with window 250");
        assert!(searched.identity() > variant.identity());
        variant.spec = None;
        assert_eq!(variant.label(), "as found by libdeflate");
        variant.decoder = None;
        assert_eq!(variant.label(), "as found");
        variant.delta_cache = Some(ChosenDeltaCache { limit_bytes: Some(16 << 20) });
        assert_eq!(variant.label(), "as found, cache 16M");
        variant.delta_cache = None;
        variant.client = Some(Client {
            kind: ClientKind::Stock,
            program: "git".into(),
            version: "git version 2.39.5".into(),
            library: true,
            zlib: "zlib-rs".into(),
            helps: Vec::new(),
        });
        assert_eq!(variant.label(), "as found · git + zlib-rs");
    }

    #[test]
    fn durations_saturate_as_nanoseconds() {
        let sample = SampleRecord::from_durations(Duration::MAX, Duration::from_micros(3), Duration::ZERO);
        assert_eq!(sample, SampleRecord { wall_ns: u64::MAX, user_ns: 3000, sys_ns: 0, writing_ns: None });
        assert_eq!(sample.with_writing(Some(Duration::from_nanos(7))).writing_ns, Some(7));
    }

    #[test]
    fn system_time_counts_only_in_cpu_time() {
        let sample = SampleRecord { wall_ns: 100, user_ns: 30, sys_ns: 4, writing_ns: None };
        assert_eq!(ComparedTime::Cpu.nanoseconds(&sample), 34);
        assert_eq!(ComparedTime::User.nanoseconds(&sample), 30);
        assert_eq!(ComparedTime::Wall.nanoseconds(&sample), 100);
        let endless = SampleRecord { sys_ns: u64::MAX, ..sample };
        assert_eq!(ComparedTime::Cpu.nanoseconds(&endless), u64::MAX);
    }

    #[test]
    fn time_of_writing_is_subtracted_from_cpu_time() {
        let without = |writing_ns| {
            let sample = SampleRecord { wall_ns: 100, user_ns: 30, sys_ns: 14, writing_ns };
            assert_eq!(ComparedTime::Cpu.nanoseconds(&sample), 44, "the sum stays what it is");
            ComparedTime::CpuWithoutWriting.nanoseconds(&sample)
        };
        assert_eq!([None, Some(0), Some(12), Some(40)].map(without), [44, 44, 32, 4]);
        assert_eq!(without(Some(45)), 0, "the grain of two clocks makes no endless time");
    }
}
