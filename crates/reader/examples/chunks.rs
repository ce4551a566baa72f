//! Prints how many chunks of each kind a repository stores, with their bytes before and after compression:
//! `cargo run -p repackbench-reader --example chunks -- REPO`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use repackbench_reader::Repository;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let repository = Repository::open(&path)?;
    // Chunks, payload bytes and stored bytes of each kind.
    let mut kinds: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    repository.store().for_each_chunk(&mut |chunk| {
        let (chunks, payload, stored) = kinds.entry(chunk.kind.to_string()).or_default();
        *chunks += 1;
        *payload += chunk.payload_len;
        *stored += chunk.stored_len;
        Ok(())
    })?;
    for (kind, (chunks, payload, stored)) in kinds {
        println!("{kind:16} {chunks:10} {payload:14} {stored:14}");
    }
    Ok(())
}
