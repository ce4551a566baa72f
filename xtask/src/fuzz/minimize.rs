//! Chooses the committed corpus among the inputs that were found.

use std::fs;
use std::path::PathBuf;

use super::build::Programs;
use super::run::{grown_corpus, logged, program};
use crate::files::{self, failed, make_folder, remove_folder};
use crate::process::{Failure, Outcome};

/// The most inputs to add to the seeds of a target.
const MOST: usize = 40;

/// The longest input to add, in bytes, and the most bytes of all that are added.
const LONGEST: u64 = 1 << 10;
const MOST_BYTES: u64 = 10 << 10;

/// Seeds have names that begin like this. They stay.
const SEED: &str = "seed-";

/// Replaces the committed inputs of `target`, except for its seeds, by a few small ones that cover more than seeds do.
pub(super) fn minimize(programs: &Programs, target: &str) -> Outcome<()> {
    let committed = super::package().join("corpus").join(target);
    let merged = super::folder().join("merged").join(target);
    remove_folder(&merged)?;
    make_folder(&merged)?;
    for path in files::entries(&committed)? {
        if is_seed(&path) {
            fs::copy(&path, merged.join(path.file_name().unwrap_or_default()))
                .map_err(|error| failed(&path, &error))?;
        } else {
            fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        }
    }
    // libFuzzer adds to the first folder what covers something new. It looks at short inputs first.
    let log = super::folder().join("logs").join(format!("{target}-merge.log"));
    let mut command = program(programs, target);
    let status = logged(command.arg("-merge=1").arg(&merged).arg(grown_corpus(target)?), &log)?;
    if !status.success() {
        return Err(Failure(format!("{target}: {status}; see {}", log.display())));
    }
    let mut found = Vec::new();
    for path in files::entries(&merged)? {
        let length = fs::metadata(&path).map_err(|error| failed(&path, &error))?.len();
        found.push((length, path));
    }
    let kept = chosen(found);
    println!("{target:12} {} inputs beside its seeds", kept.len());
    for path in kept {
        let name = path.file_name().unwrap_or_default();
        fs::copy(&path, committed.join(name)).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// The shortest inputs that are no seeds, as many as are allowed.
fn chosen(mut found: Vec<(u64, PathBuf)>) -> Vec<PathBuf> {
    found.retain(|(length, path)| *length <= LONGEST && !is_seed(path));
    found.sort();
    let mut total = 0;
    let fits = found.into_iter().take(MOST).take_while(|(length, _)| {
        total += length;
        total <= MOST_BYTES
    });
    fits.map(|(_, path)| path).collect()
}

fn is_seed(path: &std::path::Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SEED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_inputs_are_chosen_within_the_limits() {
        let found = [(2_000, "c"), (20, "b"), (10, "seed-a"), (10, "d")];
        let found = found.map(|(length, name)| (length, PathBuf::from(name))).to_vec();
        assert_eq!(chosen(found), [PathBuf::from("d"), PathBuf::from("b")]);
        let many: Vec<(u64, PathBuf)> = (0..100).map(|number| (1_000, format!("{number:03}").into())).collect();
        assert_eq!(chosen(many).len(), 10);
        let many: Vec<(u64, PathBuf)> = (0..100).map(|number| (1, format!("{number:03}").into())).collect();
        assert_eq!(chosen(many).len(), MOST);
    }
}
