//! Rewrites a repository under a codec: `cargo run -p repackbench-writer --example convert -- REPO zstd:5 TARGET`.

use std::error::Error;
use std::path::PathBuf;

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_writer::{ConvertJob, JobControl, Layout, NoProgress, convert};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [repository, spec, target] = arguments.as_slice() else { return Err("expected REPO SPEC TARGET".into()) };
    let source = Repository::open(repository.as_ref())?;
    let spec: CodecSpec = spec.parse()?;
    let target = PathBuf::from(target);
    let control = JobControl { threads: 2, progress: &NoProgress };
    // Every new chunk is decoded again and compared before the target gets its name.
    let (conversion, written) = convert(&source, &spec, Layout::default(), &ConvertJob::new(&target, control))?;
    conversion.notes.iter().for_each(|note| eprintln!("{note}"));
    println!("{} in {:.1} s", written.display(), conversion.elapsed.as_secs_f64());
    Ok(())
}
