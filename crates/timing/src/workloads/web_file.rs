//! `web:file`: what a forge's page of one file reads, for files that are drawn from history.
//!
//! Each request is a file at a revision: the commit, the trees on the way to the file, and its content are read, as
//! `git cat-file blob REVISION:PATH` does in one long-lived process. In Mercurial it is the changeset, its manifest and
//! the file revision.

use gix_hash::ObjectId;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_reader::{Changes, History, Repository, traits::FileMode};
use repackbench_records::WorkloadLabel;

use super::{
    HistoryRange, Observer, VariantPlace, Workload, WorkloadError,
    diff::{label, read_content},
    start,
};

/// The number of requests that are drawn, here and for stock clients.
pub(crate) const REQUESTS: usize = 300;

/// A file at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    revision: ObjectId,
    path: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct WebFile {
    range: HistoryRange,
    /// Drawn at the first preparation: all variants have the same history.
    requests: Vec<Request>,
    file: Changes,
    content: Vec<u8>,
}

impl WebFile {
    pub(super) fn new(range: HistoryRange) -> Self {
        WebFile { range, requests: Vec::new(), file: Changes::default(), content: Vec::new() }
    }

    /// Draws requests: each time one of the compared commits of the range, and one of the files that it changed, at that
    /// commit. So a file is drawn as often as it was worked on.
    fn draw(&self, history: &mut dyn History) -> Result<Vec<Request>, WorkloadError> {
        let tip = start(history, &self.range.revision)?;
        history.start_log(tip)?;
        let mut left = self.range.commits.unwrap_or(u64::MAX);
        let mut compared = Vec::new();
        while left > 0
            && let Some(revision) = history.next_revision()?
        {
            left -= 1;
            compared.extend(Some(revision).filter(|revision| revision.is_compared));
        }
        let mut random = SmallRng::seed_from_u64(self.range.seed);
        let (mut requests, mut changes) = (Vec::new(), Changes::default());
        for _ in 0..REQUESTS {
            let Some(revision) = compared.get(random.random_range(0..compared.len().max(1))) else { break };
            history.changes(revision, &mut changes)?;
            let is_file = |mode: FileMode| mode != FileMode::Gitlink;
            let files: Vec<&[u8]> = changes
                .iter()
                .filter(|(_, change)| change.new.as_ref().is_some_and(|file| is_file(file.mode)))
                .map(|(path, _)| path)
                .collect();
            // A commit that only removes files has none.
            if let Some(path) = files.get(random.random_range(0..files.len().max(1))) {
                requests.push(Request { revision: revision.id, path: path.to_vec() });
            }
        }
        match requests.is_empty() {
            true => {
                let why = format!("no commit of {} that is compared adds a file", self.range.revision);
                Err(WorkloadError::Refused { why })
            }
            false => Ok(requests),
        }
    }
}

impl Workload for WebFile {
    fn label(&self) -> WorkloadLabel {
        label("web:file", &self.range, &[])
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        if self.requests.is_empty() {
            let mut history = Repository::open(&variant.folder)?.history(variant.decoders)?;
            self.requests = self.draw(history.as_mut())?;
        }
        Ok(())
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        if self.requests.is_empty() {
            return Err(WorkloadError::not_prepared());
        }
        for Request { revision, path } in &self.requests {
            observer.start_request();
            observer.commit(revision);
            history.file_at(revision, path, &mut self.file)?;
            for (path, change) in self.file.iter() {
                observer.change(path, change);
                if let Some(version) = &change.new {
                    read_content(history, path, version, &mut self.content, observer)?;
                }
            }
            observer.end_request();
        }
        observer.missing(history.missing());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use gix_hash::oid;
    use repackbench_codec::Decoders;
    use repackbench_reader::Change;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.current_dir(folder).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(arguments);
        // The user may have set GIT_DIR or a folder of configuration.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        output.stdout
    }

    /// Keeps what each request read.
    #[derive(Default)]
    struct Pages(Vec<(ObjectId, Vec<u8>, Vec<u8>)>);

    impl Observer for Pages {
        fn commit(&mut self, id: &oid) {
            self.0.push((id.to_owned(), Vec::new(), Vec::new()));
        }

        fn change(&mut self, path: &[u8], _change: &Change) {
            self.0.last_mut().unwrap().1 = path.to_vec();
        }

        fn content(&mut self, content: &[u8]) {
            self.0.last_mut().unwrap().2 = content.to_vec();
        }
    }

    #[test]
    fn requests_read_what_git_reads() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "-b", "main"]);
        fs::create_dir_all(folder.path().join("src/deep")).unwrap();
        for (path, content) in [("src/deep/a", "1"), ("src/deep/a", "2"), ("b", "3"), ("src/c d", "4")] {
            fs::write(folder.path().join(path), content).unwrap();
            git(folder.path(), &["add", "."]);
            git(folder.path(), &["commit", "-q", "-m", path]);
        }
        git(folder.path(), &["rm", "-q", "b"]);
        git(folder.path(), &["commit", "-q", "-m", "only removes"]);
        let repository = Repository::open(folder.path()).unwrap();
        let pages = |seed, commits| {
            let place = VariantPlace::of(&repository, Decoders::default());
            let mut workload = WebFile::new(HistoryRange { revision: "HEAD".to_owned(), commits, seed });
            workload.prepare(&place).unwrap();
            let mut pages = Pages::default();
            workload.run(repository.history(Decoders::default()).unwrap().as_mut(), &mut pages).unwrap();
            pages.0
        };
        let all = pages(1, None);
        assert!((200..REQUESTS).contains(&all.len()), "a fifth of the commits has no file: {}", all.len());
        for (commit, path, content) in &all[..20] {
            let name = format!("{commit}:{}", std::str::from_utf8(path).unwrap());
            assert_eq!(git(folder.path(), &["cat-file", "blob", &name]), *content, "{name}");
        }
        assert_ne!(all, pages(2, None), "the seed draws");
        assert!(pages(1, Some(2)).iter().all(|(_, path, _)| path == b"src/c d"), "only the newest commits");
        let mut nothing = WebFile::new(HistoryRange { revision: "HEAD".to_owned(), commits: Some(1), seed: 1 });
        let refused = nothing.prepare(&VariantPlace::of(&repository, Decoders::default())).unwrap_err();
        assert!(refused.to_string().contains("no commit of HEAD"), "{refused}");
    }
}
