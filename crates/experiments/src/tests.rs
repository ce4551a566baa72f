//! What tests of whole experiments have in common: a small repository that git wrote, and a cache beside it on a disk.

use std::{fs, io, path::Path, process::Command, sync::Mutex};

use repackbench_reader::Repository;
use repackbench_records::{Experiment, Record};
use repackbench_timing::{bench::Recorder, clock::SystemClock};
use repackbench_writer::{NoProgress, cache::Cache};

use crate::{Context, ExperimentError, Options};

/// A repository, and what the user chose.
pub(crate) struct Setting {
    folder: tempfile::TempDir,
    pub(crate) options: Options,
}

struct KeepsNothing;

impl Recorder for KeepsNothing {
    fn keep(&mut self, _earlier: &[Record]) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, _record: &Record) -> io::Result<()> {
        Ok(())
    }
}

/// So many files with names and contents that shrink.
pub(crate) fn files_of(count: usize) -> Vec<(String, Vec<u8>)> {
    let line =
        |number: usize, line: usize| format!("int function_{number}_{line}(void) {{ return {}; }}\n", number * line);
    let content = |number: usize| (0..=number % 20).map(|at| line(number, at)).collect::<String>();
    (0..count).map(|number| (format!("sub-{}/file {number}.c", number % 7), content(number).into_bytes())).collect()
}

impl Setting {
    /// A repository of one commit with `files`, for `runs` runs.
    pub(crate) fn new(files: &[(String, Vec<u8>)], runs: u32) -> Self {
        // On a disk: what lies in memory has nothing to be evicted to.
        let folder = crate::on_disk::folder();
        let path = folder.path().join("source");
        fs::create_dir(&path).unwrap();
        git(&path, &["init", "-q", "-b", "main"]);
        for (name, content) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "--allow-empty", "-m", "all"]);
        let options = Options {
            budget: None,
            runs: Some(runs),
            min_run_time: None,
            revision: None,
            is_repacked: false,
            // Those who run tests have other work on their machine.
            keeps_caches: true,
            git: "git".into(),
            hg: "hg".into(),
            hg_extension: None,
            meter: None,
            threads: 2,
            seed: 1,
            command: None,
        };
        Setting { folder, options }
    }

    /// Adds a commit of what `change` makes of the work tree.
    pub(crate) fn commit(&self, change: impl FnOnce(&Path)) {
        let path = self.folder.path().join("source");
        change(&path);
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "-m", "more"]);
    }

    fn cache(&self) -> Cache {
        Cache::open(Some(self.folder.path().join("cache"))).unwrap()
    }

    /// Runs `experiment`.
    pub(crate) fn run(
        &self,
        experiment: fn(&Context<'_>) -> Result<Experiment, ExperimentError>,
    ) -> Result<Experiment, ExperimentError> {
        let source = Repository::open(&self.folder.path().join("source")).unwrap();
        experiment(&Context {
            source: &source,
            name: "sample",
            cache: &self.cache(),
            clock: &SystemClock::new(),
            progress: &NoProgress,
            options: &self.options,
            recorder: &Mutex::new(KeepsNothing),
        })
    }

    /// How many folders of copies are in the cache.
    pub(crate) fn left_in_cache(&self) -> usize {
        self.cache().cold_copies().unwrap().len()
    }
}

/// Runs git in `folder`, untouched by the user's configuration; returns what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "A")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@example.com")))
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?} in {}: {output:?}", folder.display());
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
