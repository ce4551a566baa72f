//! Prints the median CPU time of each workload under each codec from the records of `bench --json`:
//! `cargo run -p repackbench-records --example medians -- FILE`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;

use repackbench_records::read_records;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("expected a file of records")?;
    let mut times: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for record in read_records(BufReader::new(File::open(path)?)) {
        let record = record?;
        // The repository as found has no spec.
        let spec = record.variant.spec.map_or_else(|| "as found".to_owned(), |spec| spec.canonical);
        let row = (record.workload.name, spec);
        times.entry(row).or_default().push(record.sample.user_ns + record.sample.sys_ns);
    }
    for ((workload, spec), mut nanoseconds) in times {
        nanoseconds.sort_unstable();
        if let Some(median) = nanoseconds.get(nanoseconds.len() / 2) {
            println!("{workload:16} {spec:24} {:10.3} ms", *median as f64 / 1e6);
        }
    }
    Ok(())
}
