//! What the files of records of a fleet have to hold: one final end for each repository, and one estimate for each that
//! was done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::wrong;
use crate::files;
use crate::process::Outcome;

/// What the files hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) done: usize,
    /// Repositories without commits.
    pub(super) empty: usize,
    /// Bad repositories.
    pub(super) failed: usize,
    /// Repositories that the fleet does not try again, because it was killed in several tries.
    pub(super) given_up: usize,
    /// Repositories with a final end after another one.
    pub(super) retried: usize,
}

/// The fields of a line that matter here.
#[derive(Deserialize)]
struct Line {
    record: String,
    #[serde(default)]
    name: String,
    end: Option<End>,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct End {
    outcome: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Repository {
    name: String,
}

/// The lines of one repository.
#[derive(Default)]
struct Ends {
    done: usize,
    empty: usize,
    failed: usize,
    given_up: usize,
    again: usize,
    estimates: usize,
}

/// Fails unless each of `names`, and no other repository, has one final end in `shards`.
pub(super) fn check(shards: &[PathBuf], names: &[String]) -> Outcome<Found> {
    let texts = shards.iter().map(|shard| files::read_text(shard)).collect::<Outcome<Vec<_>>>()?;
    check_texts(texts.iter().map(String::as_str), names)
}

fn check_texts<'a>(texts: impl Iterator<Item = &'a str>, names: &[String]) -> Outcome<Found> {
    let mut all: BTreeMap<String, Ends> = names.iter().map(|name| (name.clone(), Ends::default())).collect();
    for text in texts {
        for (number, line) in text.lines().enumerate() {
            let line: Line =
                serde_json::from_str(line).map_err(|error| wrong(format!("line {}: {error}", number + 1)))?;
            let name = line.repository.map_or(line.name, |repository| repository.name);
            let known = |name: &str| wrong(format!("{name}: a record of a repository that is not in the manifest"));
            match (line.record.as_str(), line.end) {
                ("estimate", _) => all.get_mut(&name).ok_or_else(|| known(&name))?.estimates += 1,
                ("fleet", Some(end)) => {
                    let ends = all.get_mut(&name).ok_or_else(|| known(&name))?;
                    match end.outcome.as_str() {
                        "done" => ends.done += 1,
                        "empty" => ends.empty += 1,
                        "failed" if end.message.starts_with("given up: ") => ends.given_up += 1,
                        "failed" => ends.failed += 1,
                        _ => ends.again += 1,
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = Found::default();
    for (name, ends) in &all {
        let Ends { done, empty, failed, given_up, again, estimates } = ends;
        if done + empty + failed + given_up != 1 || estimates != done {
            return Err(wrong(format!(
                "{name}: expected one final record, found {done} done, {empty} empty, {failed} failed, {given_up} given up, {again} to try again, {estimates} estimates"
            )));
        }
        found.done += done;
        found.empty += empty;
        found.failed += failed;
        found.given_up += given_up;
        found.retried += usize::from(*again > 0);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"record":"fleet-run","schema":3}"#;

    fn end(name: &str, outcome: &str) -> String {
        format!(r#"{{"record":"fleet","name":"{name}","end":{{"outcome":"{outcome}"}}}}"#)
    }

    fn estimate(name: &str) -> String {
        format!(r#"{{"record":"estimate","repository":{{"name":"{name}"}}}}"#)
    }

    fn checked(lines: &[String]) -> Result<Found, String> {
        let names = ["a".to_owned(), "b".to_owned()];
        check_texts([lines.join("\n").as_str()].into_iter(), &names).map_err(|failure| failure.0)
    }

    #[test]
    fn each_repository_has_one_final_record() {
        let good = [RUN.to_owned(), estimate("a"), end("a", "done"), end("b", "try-again"), end("b", "failed")];
        assert_eq!(checked(&good), Ok(Found { done: 1, failed: 1, retried: 1, ..Found::default() }));
        let given_up = r#"{"record":"fleet","name":"b","end":{"outcome":"failed","message":"given up: killed"}}"#;
        let begun = r#"{"record":"fleet-try","name":"b","event":"begun"}"#;
        let given_up = [estimate("a"), end("a", "done"), begun.to_owned(), given_up.to_owned()];
        assert_eq!(checked(&given_up), Ok(Found { done: 1, given_up: 1, ..Found::default() }));
        let empty = [estimate("a"), end("a", "done"), end("b", "empty")];
        assert_eq!(checked(&empty), Ok(Found { done: 1, empty: 1, ..Found::default() }));
        let lost = checked(&good[..3]).unwrap_err();
        assert!(lost.contains("b: expected one final record, found 0 done"), "{lost}");
        for more in [end("a", "done"), end("a", "failed"), estimate("a"), estimate("b"), end("c", "done")] {
            assert!(checked(&[&good[..], std::slice::from_ref(&more)].concat()).is_err(), "{more}");
        }
        assert!(checked(&["{".to_owned()]).unwrap_err().contains("line 1"));
    }
}
