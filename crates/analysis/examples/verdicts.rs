//! Prints what the runs of a session decide, from the records of `bench --json`:
//! `cargo run -p repackbench-analysis --example verdicts -- FILE`.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;

use repackbench_analysis::compare_records;
use repackbench_records::{RatioEstimate, Verdict, read_records};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("expected a file of records")?;
    let records = read_records(BufReader::new(File::open(path)?)).collect::<Result<Vec<_>, _>>()?;
    for comparison in compare_records(&records) {
        match comparison.noise_floor {
            Some(floor) => println!("{}: noise floor {:.1} %", comparison.workload, 100.0 * floor),
            None => println!("{}: no noise floor, so no verdicts", comparison.workload),
        }
        for row in &comparison.rows {
            let ratio = row.ratio.as_ref().map_or_else(|| "baseline".to_owned(), with_interval);
            println!("  {:32} {ratio:24} {}", row.variant.label(), words(row.verdict));
        }
    }
    Ok(())
}

fn with_interval(estimate: &RatioEstimate) -> String {
    match estimate.interval {
        Some(interval) => format!("{:.3} [{:.3}, {:.3}]", estimate.ratio, interval.low, interval.high),
        None => format!("{:.3}", estimate.ratio),
    }
}

fn words(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Same) => "the same within the noise floor",
        Some(Verdict::Inconclusive) => "not decided",
        None => "",
    }
}
