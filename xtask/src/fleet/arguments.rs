//! What was typed after `cargo xtask fleet`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::files;
use crate::process::{Failure, Outcome};

/// How many repositories are made by default.
const COUNT: usize = 1000;
/// How often each shard is killed by default.
const KILLS: u32 = 10;

#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    pub(super) count: usize,
    /// Git repositories whose histories are used.
    pub(super) sources: Vec<PathBuf>,
    /// `--time` of each repository.
    pub(super) time: String,
    pub(super) as_found: bool,
    /// How often each shard is killed.
    pub(super) kills: u32,
    pub(super) seed: u64,
    /// A program that is built already.
    pub(super) program: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn parse(words: &[OsString]) -> Outcome<Self> {
        let mut parsed = Arguments {
            count: COUNT,
            sources: Vec::new(),
            time: "2s".to_owned(),
            as_found: false,
            kills: KILLS,
            seed: 1,
            program: None,
        };
        let mut words = words.iter().enumerate();
        while let Some((place, word)) = words.next() {
            let name = word.to_str().unwrap_or_default();
            if name == "--as-found" {
                parsed.as_found = true;
            } else if let Some(option) = name.strip_prefix("--") {
                let value = words.next().map(|(_, value)| value.to_string_lossy().into_owned());
                parsed.set(option, value.ok_or_else(|| Failure(format!("fleet: --{option} needs a value")))?)?;
            } else if let (0, Ok(count)) = (place, name.parse()) {
                parsed.count = count;
            } else {
                let path = Path::new(word);
                parsed.sources.push(std::path::absolute(path).map_err(|error| files::failed(path, &error))?);
            }
        }
        if parsed.sources.is_empty() {
            parsed.sources.push(crate::workspace_root().to_path_buf());
        }
        Ok(parsed)
    }

    fn set(&mut self, option: &str, value: String) -> Outcome<()> {
        let wrong = |value: &str| Failure(format!("fleet: --{option}: {value:?} is not a number"));
        match option {
            "time" => self.time = value,
            "kills" => self.kills = value.parse().map_err(|_| wrong(&value))?,
            "seed" => self.seed = value.parse().map_err(|_| wrong(&value))?,
            "program" => self.program = Some(value.into()),
            _ => {
                let known = "--time, --as-found, --kills, --seed and --program";
                return Err(Failure(format!("fleet: unknown option --{option}; expected {known}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Outcome<Arguments> {
        Arguments::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn number_options_and_sources_are_told_apart() {
        let default = parse("").unwrap();
        assert_eq!((default.count, default.sources), (COUNT, vec![crate::workspace_root().to_path_buf()]));
        let typed = parse("50 --kills 3 /a --time 1s --as-found 7 --seed 9").unwrap();
        assert_eq!((typed.count, typed.kills, typed.seed, typed.as_found), (50, 3, 9, true));
        assert_eq!(typed.time, "1s");
        assert_eq!(typed.sources.first().map(PathBuf::as_path), Some(Path::new("/a")));
        assert!(typed.sources.get(1).is_some_and(|path| path.ends_with("7")), "only the first word is a number");
        for wrong in ["--kills", "--kills many", "--jobs 2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
