//! The command line of `cargo xtask fuzz`.

use std::ffi::OsString;
use std::time::Duration;

use crate::process::{Failure, Outcome};
use crate::typed_time::parse_time;

const USAGE: &str = "\
usage: cargo xtask fuzz [TARGET...] [--time TIME] [--minimize] [--list]
  TARGET      a target of fuzz/Cargo.toml (default: all of them, one after another)
  --time TIME how long each target runs, such as 90s, 5m or 1h (default: 30m for pack, delta, revlog, container and
              preload, 5m for others)
  --minimize  run nothing; choose small inputs for the committed corpus among those that were found
  --list      list the targets";

/// Targets with the most hostile bytes and the most code, which run longer by default.
const LONG: [&str; 5] = ["pack", "delta", "revlog", "container", "preload"];

/// The parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    names: Vec<String>,
    time: Option<Duration>,
    pub(super) minimize: bool,
    pub(super) list: bool,
}

/// Parses the words after the chore's name.
pub(super) fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let mut arguments = Arguments::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str().ok_or_else(usage)? {
            "--time" => {
                let typed = words.next().and_then(|typed| typed.to_str()).ok_or_else(usage)?;
                arguments.time =
                    Some(parse_time(typed).ok_or_else(|| {
                        Failure(format!("--time: expected a time such as 90s, 5m or 1h, found {typed}"))
                    })?);
            }
            "--minimize" => arguments.minimize = true,
            "--list" => arguments.list = true,
            option if option.starts_with('-') => return Err(usage()),
            name => arguments.names.push(name.to_owned()),
        }
    }
    Ok(arguments)
}

impl Arguments {
    /// Those of `targets` that are named; all if none is.
    pub(super) fn chosen(&self, targets: Vec<String>) -> Outcome<Vec<String>> {
        match self.names.iter().find(|name| !targets.contains(name)) {
            Some(unknown) => Err(Failure(format!("no target {unknown}; there are {}", targets.join(", ")))),
            None if self.names.is_empty() => Ok(targets),
            None => Ok(self.names.clone()),
        }
    }

    /// How long `target` runs.
    pub(super) fn time(&self, target: &str) -> Duration {
        let minutes = if LONG.contains(&target) { 30 } else { 5 };
        self.time.unwrap_or(Duration::from_secs(60 * minutes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&words).map_err(|Failure(message)| message)
    }

    #[test]
    fn targets_and_times_are_parsed() {
        let targets = || vec!["pack".to_owned(), "spec".to_owned()];
        let all = parsed(&[]).unwrap();
        assert_eq!(all.chosen(targets()).unwrap(), targets());
        assert_eq!([all.time("pack"), all.time("spec")], [1800, 300].map(Duration::from_secs));
        let one = parsed(&["spec", "--time", "90s"]).unwrap();
        assert_eq!(one.chosen(targets()).unwrap(), ["spec"]);
        assert_eq!(one.time("pack"), Duration::from_secs(90));
        assert_eq!(parsed(&["--time", "2h"]).unwrap().time("spec"), Duration::from_secs(7200));
    }

    #[test]
    fn mistakes_are_named() {
        for time in ["", "5", "m", "0s", "-1m", "5x"] {
            assert!(parsed(&["--time", time]).is_err_and(|message| message.contains("such as 90s")), "{time}");
        }
        assert!(parsed(&["--forever"]).is_err_and(|message| message.starts_with("usage")));
        let unknown = parsed(&["paks"]).unwrap().chosen(vec!["pack".to_owned()]);
        assert!(unknown.is_err_and(|Failure(message)| message == "no target paks; there are pack"));
    }
}
