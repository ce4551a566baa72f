//! Records of measurements: one [`Record`] per run, written as one line of JSON.
//!
//! Everything that repackbench prints or draws is derived from records, so they hold every raw sample together with
//! what is needed to read it years later on another machine: the host, the repository and its state, the variant with
//! its sizes, the workload, the run's place in the schedule, and what the run decoded. The types here depend on no
//! other crate of the project, so that any tool can analyse results with this file format.
//!
//! - [`Record`] and its parts: one run;
//! - [`SizeRecord`]: where a repository's bytes on disk go;
//! - [`write_record`] and [`read_records`]: records as JSON lines;
//! - [`WorkloadComparison`]: the findings about one workload, for tables.
//!
//! The example `medians` makes a table of a file.
//!
//! ```
//! use std::{fs::File, io::BufReader};
//!
//! use repackbench_records::read_records;
//! # let path = "../cli/tests/golden/inputs/git_verdicts.jsonl";
//!
//! let mut cpu = std::time::Duration::ZERO;
//! for record in read_records(BufReader::new(File::open(path)?)) {
//!     let sample = record?.sample;
//!     cpu += std::time::Duration::from_nanos(sample.user_ns + sample.sys_ns);
//! }
//! assert!(!cpu.is_zero());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod budget;
mod chains;
mod client;
mod comparison;
mod device_check;
mod estimate;
mod experiment;
mod explanation;
#[cfg(feature = "fixtures")]
pub mod fixtures;
mod fleet;
mod fleet_summary;
mod host;
mod jsonl;
mod layout;
mod listed;
mod memory_check;
mod public_record;
mod published;
mod reads;
mod record;
mod regression;
mod requests;
mod run;
mod schema;
mod self_test;
mod serve;
mod serving_load;
mod size;
mod spec;
mod statement;
mod trace;

pub use budget::{EqualBudget, Quantity};
pub use chains::{ChainReads, ChainRecord};
pub use client::{Client, ClientKind};
pub use comparison::{
    DisturbanceShares, ElapsedComparison, RatioEstimate, RatioInterval, ReferenceRatios, VariantComparison, Verdict,
    WorkloadComparison,
};
pub use device_check::{ColdCopyReads, DeviceCalibration, DeviceCheck};
pub use estimate::{
    DeltaState, OtherSearch, Predicted, Rechosen, RepositoryEstimate, SpecPrediction, WorkloadPrediction,
};
pub use experiment::{
    ClaimOutcome, ClaimText, EXPERIMENT_SCHEMA_VERSION, Estimate, Experiment, ExperimentColumn, ExperimentRow,
    ExperimentTable, JudgedClaim, Outcome, Unit,
};
pub use explanation::{Explanation, Factor, FactorKind, NumbersSplit};
pub use fleet::{FleetEnd, FleetRecord, FleetRun, FleetTry, FleetTryEvent};
pub use fleet_summary::{
    ClassCodec, FleetCheck, FleetClass, FleetCodec, FleetFailure, FleetFigure, FleetRatios, FleetRow, FleetState,
    FleetSummary, FleetSystem, FleetWorkload, RepositoryClass,
};
pub use host::{Host, Machine, Storage};
pub use jsonl::{
    MAX_LINE_BYTES, RecordError, ResultLine, SizeLine, read_numbered_results, read_records, read_results, write_record,
    write_result,
};
pub use layout::ChosenLayout;
pub use listed::{ContentKind, ListError, ListedRepository, read_list};
pub use memory_check::{MemoryCheck, MemoryCheckRow};
pub use public_record::{RefusedRecord, check_public, repository_of};
pub use published::{Published, PublishedClaim, PublishedRow, PublishedTable, published, published_experiment};
pub use reads::{ModelledCold, ModelledDevice, TracedReads};
pub use record::{
    BlockId, ChosenDecoder, ComparedTime, ContentDigest, ConversionCost, DeltaOrigin, OLDEST_SCHEMA_VERSION,
    OwnGitCost, Readers, Record, RepositoryState, Role, RunPlace, SCHEMA_VERSION, SampleRecord, SessionId, SpecText,
    Variant, VariantIdentity, Vcs, WorkloadLabel,
};
pub use regression::{CellChange, CellId, Measure, ResultChange};
pub use requests::{RequestPercentiles, RequestTimes, WrittenBytes};
pub use run::{Checks, ChosenDeltaCache, DeltaCacheUse, Disturbance, RunUsage};
pub use schema::record_schema;
pub use self_test::{SelfTest, SpuriousEffects};
pub use serve::{ROLLOUT_SCHEMA_VERSION, Rollout, RolloutStep, ServedClient, ServedExchange, ServerStore};
pub use serving_load::{
    CheckedPack, LeftOutLoad, LoadExchange, LoadRequest, LoadRow, LoadSample, SERVING_LOAD_SCHEMA_VERSION, ServingArm,
    ServingLoad,
};
pub use size::{
    ChunkForm, ChunkSizes, FormSizes, IdBytes, KindSizes, LooseSizes, ObjectKind, ObjectSizes, SizeRecord, StoredForm,
    StoredForms,
};
pub use spec::SpecParts;
pub use statement::{Figure, Statement, StatementValue, StoredStatement};
pub use trace::{
    AccessMap, DeviceRecord, FilePages, FirstTouches, MapCell, ModelledMemory, ModelledReads, PartAccesses, TraceRecord,
};
