//! What a session draws from a Mercurial history by its seed: files to annotate, a change to commit, and the bundle of
//! the newest changesets. All rows get the same.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::Command,
};

use rand::{Rng, SeedableRng, rngs::SmallRng, seq::SliceRandom};
use repackbench_reader::hg::HgRepository;

use super::{
    super::{
        StockError,
        drawn::{Drawn, Request},
        output,
    },
    Hg, before_newest, copy_store,
};

/// How many changesets are drawn.
const DRAWS: usize = 40;
/// How many files a commit changes at most.
const CHANGED_FILES: usize = 3;

/// What a commit changes: a regular file, with its new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_executable: bool,
}

/// What the jobs of a session need.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HgNeeds {
    pub(crate) requests: bool,
    pub(crate) changes: bool,
    /// The number of changesets in the bundle.
    pub(crate) bundle: Option<u64>,
}

/// The history to draw from: the ancestors of `head`, in a copy of a variant that plain hg reads.
pub(crate) struct DrawFromHg<'a> {
    hg: &'a Hg,
    root: PathBuf,
    head: &'a str,
    /// The greatest number of changesets to draw from; `None` for all.
    commits: Option<u64>,
    seed: u64,
}

impl<'a> DrawFromHg<'a> {
    /// Copies `repository` into the session's folder, since hg writes caches into what it reads.
    pub(crate) fn new(
        hg: &'a Hg,
        repository: &HgRepository,
        head: &'a str,
        commits: Option<u64>,
        seed: u64,
    ) -> Result<Self, StockError> {
        let root = hg.scratch.join("drawn-from");
        copy_store(repository, &root)?;
        Ok(DrawFromHg { hg, root, head, commits, seed })
    }

    /// Draws what the jobs need, and writes the bundle into the session's folder.
    pub(crate) fn draw(&self, needs: HgNeeds) -> Result<Drawn, StockError> {
        let touched = if needs.requests || needs.changes { self.requests()? } else { Vec::new() };
        let changes = if needs.changes { self.changes(&touched)? } else { Vec::new() };
        let bundle = needs.bundle.map(|commits| self.bundle(commits)).transpose()?;
        Ok(Drawn { requests: touched, changes, bundle, ..Drawn::default() })
    }

    fn command(&self) -> Command {
        let mut command = self.hg.command();
        command.arg("-R").arg(&self.root);
        command
    }

    /// Draws requests: each time one of the changesets, and one of the files that it added or changed, at that changeset.
    /// So a file is drawn as often as it was worked on. What is drawn again from a short history counts once.
    fn requests(&self) -> Result<Vec<Request>, StockError> {
        let mut list = self.command();
        list.args(["log", "-T", "{node}\n", "-r", &format!("reverse(::{} and not merge())", self.head)]);
        if let Some(commits) = self.commits {
            list.args(["-l", &commits.to_string()]);
        }
        let listed = output(&mut list)?;
        let nodes: Vec<&str> = std::str::from_utf8(&listed).unwrap_or_default().lines().collect();
        let mut random = SmallRng::seed_from_u64(self.seed);
        let draws = if nodes.is_empty() { 0 } else { DRAWS };
        let drawn: Vec<&str> =
            (0..draws).filter_map(|_| nodes.get(random.random_range(0..nodes.len())).copied()).collect();
        let changed = match drawn.is_empty() {
            true => Vec::new(),
            false => {
                let template = r"{node}\0{file_mods % '{file}\0'}{file_adds % '{file}\0'}\n";
                output(self.command().args(["log", "-T", template, "-r", &drawn.join("+")]))?
            }
        };
        let by_node = changed_files(&changed);
        let mut requests: Vec<Request> = Vec::new();
        for node in drawn {
            let Some((_, paths)) = by_node.iter().find(|(commit, _)| *commit == node) else { continue };
            let Some(path) = paths.get(random.random_range(0..paths.len().max(1))) else { continue };
            let request = Request { commit: node.to_owned(), path: path.to_vec() };
            if !requests.contains(&request) {
                requests.push(request);
            }
        }
        if requests.is_empty() {
            return Err(StockError::refused(format!("no changeset of {} that is not a merge adds a file", self.head)));
        }
        Ok(requests)
    }

    /// The first files of `touched` that the revision still has, each with a line that no revision of it had.
    fn changes(&self, touched: &[Request]) -> Result<Vec<ChangedFile>, StockError> {
        let mut list = self.command();
        let listed = output(list.args(["files", "-r", self.head, "-T", r"{path}\0{flags}\0"]))?;
        let mut files = regular_files(&listed);
        let mut paths: Vec<&[u8]> = Vec::new();
        for request in touched {
            let path = request.path.as_slice();
            if files.iter().any(|(file, _)| *file == path) && !paths.contains(&path) {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            files.shuffle(&mut SmallRng::seed_from_u64(self.seed));
            paths.extend(files.first().map(|(path, _)| *path));
        }
        paths.truncate(CHANGED_FILES);
        let changed = |path: &[u8]| {
            let mut cat = self.command();
            let mut content = output(cat.args(["cat", "-r", self.head]).arg(pattern(path)))?;
            content.extend(format!("A line that repackbench added, with the seed {}.\n", self.seed).bytes());
            let is_executable = files.iter().any(|(file, flags)| *file == path && flags.contains(&b'x'));
            Ok(ChangedFile { path: path.to_vec(), content, is_executable })
        };
        let changes = paths.into_iter().map(changed).collect::<Result<Vec<_>, StockError>>()?;
        match changes.is_empty() {
            true => Err(StockError::refused(format!("{} has no file that a commit could change", self.head))),
            false => Ok(changes),
        }
    }

    /// The newest changesets in a bundle that is not compressed, as a client sends them through ssh.
    fn bundle(&self, commits: u64) -> Result<PathBuf, StockError> {
        let file = self.hg.scratch.join("newest.hg");
        let base = before_newest(self.command(), self.head, commits)?;
        let mut command = self.command();
        command.args(["bundle", "-q", "--type", "none-v2", "-r", self.head, "--base", &base]).arg(&file);
        output(&mut command)?;
        Ok(file)
    }
}

impl Drop for DrawFromHg<'_> {
    fn drop(&mut self) {
        // The session's folder is removed at its end anyway.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The pattern of the file `path` for commands of hg, wherever they run.
pub(super) fn pattern(path: &[u8]) -> OsString {
    OsString::from_vec([b"path:", path].concat())
}

/// The files of each line `NODE\0FILE\0...`. hg knows no names with line feeds.
fn changed_files(output: &[u8]) -> Vec<(&str, Vec<&[u8]>)> {
    let lines = output.split(|byte| *byte == b'\n');
    let parsed = lines.filter_map(|line| {
        let mut fields = line.split(|byte| *byte == 0);
        let node = std::str::from_utf8(fields.next()?).ok().filter(|node| !node.is_empty())?;
        Some((node, fields.filter(|path| !path.is_empty()).collect()))
    });
    parsed.collect()
}

/// The files with their flags in `PATH\0FLAGS\0...`, without symbolic links, the files of which are not written, and without
/// hg's own: a commit would read them.
fn regular_files(output: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let (Some(path), Some(flags)) = (fields.next(), fields.next()) {
        if !flags.contains(&b'l') && !path.starts_with(b".hg") {
            files.push((path, flags));
        }
    }
    files
}

/// The path of a file in the work tree `root`; `None` if it could lead outside, as a damaged manifest may have it.
pub(super) fn place_in(root: &Path, path: &[u8]) -> Option<PathBuf> {
    let relative = PathBuf::from(OsString::from_vec(path.to_vec()));
    let is_inside = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (is_inside && !path.is_empty()).then(|| root.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_belong_to_their_changeset() {
        let found = changed_files(b"aa\0src/a b\0x\0\nbb\0\n\ncc\0\xff\0\n");
        let expected: [(&str, Vec<&[u8]>); 3] =
            [("aa", vec![b"src/a b", b"x"]), ("bb", Vec::new()), ("cc", vec![b"\xff"])];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_and_files_of_hg_are_not_changed() {
        let found = regular_files(b"a\0\0link\0l\0run\0x\0.hgtags\0\0");
        assert_eq!(found, [(&b"a"[..], &b""[..]), (b"run", b"x")]);
    }

    #[test]
    fn paths_stay_in_the_work_tree() {
        let root = Path::new("/tree");
        assert_eq!(place_in(root, b"src/a").as_deref(), Some(Path::new("/tree/src/a")));
        for outside in [&b"../a"[..], b"/a", b"a/../../b", b""] {
            assert_eq!(place_in(root, outside), None, "{}", String::from_utf8_lossy(outside));
        }
    }
}
