//! From records to findings: pure functions that start no program, read no file and write no sentence.
//!
//! [`compare_records`] turns the runs of a session into ratios with intervals and verdicts. Other findings are changes
//! between two results ([`compare_results`]), equal budgets of time or space ([`equal_budgets`]), the factors of a
//! ratio ([`ExplainedRows`]), and the rate of spurious differences between identical variants ([`self_test`]).
//! `docs/method.md` justifies the statistics.
//!
//! ```
//! use std::{fs::File, io::BufReader};
//!
//! use repackbench_analysis::compare_records;
//! use repackbench_records::read_records;
//! # let path = "../cli/tests/golden/inputs/git_verdicts.jsonl";
//!
//! let records = read_records(BufReader::new(File::open(path)?)).collect::<Result<Vec<_>, _>>()?;
//! for comparison in compare_records(&records) {
//!     for row in &comparison.rows {
//!         let ratio = row.ratio.as_ref().map(|of| of.ratio);
//!         println!("{} {:?}: {ratio:?} {:?}", comparison.workload.name, row.variant.spec, row.verdict);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod advice;
mod arm;
mod chains;
mod change;
mod claims;
mod client_pair;
mod compare;
mod decode_floor;
mod device_check;
mod equal_budget;
mod exactness;
mod explain;
mod fleet;
mod hierarchical;
mod joined;
mod outcome;
mod requests;
mod results;
mod results_page;
mod self_test;
mod source;
mod statistics;
mod stratified;
mod verdict;

pub use advice::{
    Advice, BenchAdvice, BoundedRatio, CodecGain, CodecVerdict, EstimateAdvice, LeftOut, REPOSITORY_THRESHOLD,
    SIZE_THRESHOLD, TIME_THRESHOLD, advise_on_bench, advise_on_estimate, bytes_now, is_written_by,
    predicted_search_seconds,
};
pub use arm::{
    ArmKey, ArmReader, Ratio, Ratios, WorkloadKey, best_of, between, command_peak, cpu, extra, median_estimate,
    peak_resident, samples, user, wall,
};
pub use chains::{ChainBucket, ChainComparison, ChainCost, chain_comparisons};
pub use change::compare_results;
pub use claims::{
    Judgement, SAME, Side, claim_outcomes, is_as_large, measured_ratio, measured_size, named_ratio, side, takes,
    takes_the_same, takes_the_same_beside, undecided,
};
pub use client_pair::{ClientPair, client_pairs};
pub use compare::{compare_records, unify_spellings, widest_half_width};
pub use decode_floor::{FloorPair, floor_pairs};
pub use device_check::{ColdTimes, calibrated_device, cold_times};
pub use equal_budget::equal_budgets;
pub use exactness::{is_guess, shortest_exact_run};
pub use explain::ExplainedRows;
pub use fleet::{CheckedPrediction, FleetFindings, estimate_figures, summarize_fleet};
pub use hierarchical::{
    CopyRatio, Hierarchical, estimate_of_copies, hierarchical, hierarchical_interval, ratio_of_copies,
};
pub use joined::{JoinedJob, JoinedVariant, joined_jobs};
pub use outcome::{Outcome, is_reading, outcomes, without_floors};
pub use results::Results;
pub use results_page::{
    CheckedCodec, DecodeShare, HeldOut, PageCodec, PageRepository, ResultsPage, SearchGain, results_page,
};
pub use self_test::self_test;
pub use source::{ResultSource, by_source, is_same_state, sources};
pub use statistics::{
    COVERAGE, MedianRanks, median, median_duration, median_ranks, percentile, quantile, ratio_estimate,
};
pub use stratified::{
    CostRatio, MemberCost, Offer, StratifiedTotal, StratumSample, allocate, cost_ratio, mean_ratio, stratified_total,
    student_quantile, total_by_reference,
};
pub use verdict::{ERROR_RATE, LEAST_NOISE_FLOOR, blocks_for_verdicts, holm, noise_floor, sign_test};
