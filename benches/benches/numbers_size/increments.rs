//! Packs of the newest commits: much of what they name is in earlier packs, and has no number.

use std::collections::BTreeMap;

use repackbench_benches::{Result, Subject, cores, spec};
use repackbench_codec::{CodecSpec, Dictionary};
use repackbench_reader::{git::GitRepository, threads};

use crate::{
    chunks::{Arm, Chunks},
    git,
    pack::NumberedPack,
    rewrite::{Payloads, found_payloads, rewritten_payloads},
    sizes::{BALANCED, CODECS, Numbering, Sizes, all_arms},
    tables::{Increment, print_increments},
};

/// How many packs the newest commits are in.
const COUNTS: [usize; 3] = [1, 10, 50];

/// Measures increments of the repository under `balanced` and prints the table. Dictionaries are those of the whole
/// repository, so they are not counted.
///
/// # Errors
/// Git fails, or a chunk does not lead back to its object.
pub(crate) fn print(subject: &Subject) -> Result<()> {
    println!("{}, the newest {} commits\n", subject.name(), git::NEWEST);
    let spec = spec(CODECS[BALANCED])?;
    let (payloads, _, _) = all_payloads(subject.repository())?;
    let jobs: Vec<_> = payloads.iter().collect();
    let train = |(arm, chunks): &(&Arm, &Chunks)| -> Result<(Arm, Option<Dictionary>)> {
        Ok((**arm, chunks.dictionary(arm.kind, &spec)?))
    };
    let trained = threads::map(cores(), &jobs, train)?;
    let dictionaries: BTreeMap<Arm, Option<Dictionary>> = trained.into_iter().collect();
    drop(payloads);
    let clone = subject.scratch().join("clone-of-all");
    git::borrow(subject, &clone)?;
    let mut increments = Vec::new();
    for count in COUNTS {
        let target = subject.scratch().join(format!("increments-{count}"));
        git::increments(subject, &clone, &target, count)?;
        let (payloads, packs, escapes) = all_payloads(&GitRepository::open(&target)?)?;
        let sizes = measure(&payloads, &spec, &dictionaries)?;
        increments.push(Increment {
            packs: packs.len(),
            objects: packs.iter().map(NumberedPack::len).sum(),
            found: packs.iter().map(|pack| pack.file.len()).sum(),
            sizes: Numbering::ALL.map(|numbering| sizes.pack_size(&packs, numbering, 0).total()),
            escapes,
        });
    }
    print_increments(&increments);
    Ok(())
}

/// All payloads of `repository`, as found and rewritten, with its packs and the number of references out of them.
fn all_payloads(repository: &GitRepository) -> Result<(Payloads, Vec<NumberedPack>, [u64; 2])> {
    let packs = NumberedPack::open_all(repository)?;
    let mut payloads = found_payloads(repository, &packs)?;
    let (rewritten, escapes) = rewritten_payloads(repository, &packs, &all_arms(), true)?;
    payloads.extend(rewritten);
    Ok((payloads, packs, escapes))
}

/// The sizes under `spec` alone, with dictionaries that are there already.
fn measure(payloads: &Payloads, spec: &CodecSpec, dictionaries: &BTreeMap<Arm, Option<Dictionary>>) -> Result<Sizes> {
    let mut sizes = Sizes { encoded: BTreeMap::new() };
    for (arm, chunks) in payloads {
        let mut encoded = chunks.encode(arm.kind, spec, dictionaries.get(arm).cloned().flatten())?;
        encoded.dictionary_len = 0;
        sizes.encoded.insert(*arm, vec![encoded]);
    }
    Ok(sizes)
}
