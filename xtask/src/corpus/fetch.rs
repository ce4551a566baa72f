//! Fetches one commit, and everything that it reaches, into a repository of its own.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Trouble;
use super::manifest::Entry;
use crate::files::{failed, make_folder, remove_folder};
use crate::process::output;

/// The branch of the commit. HEAD names the branch, as in an ordinary repository.
const BRANCH: &str = "refs/heads/corpus";

/// How many missing objects a message names.
const NAMED_OBJECTS: usize = 5;

/// Environment variables that would make git use another repository than the given one.
pub(super) const MISLEADING: [&str; 6] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// Ensures that `folder` has the entry's commit and everything that it reaches. Returns the number of objects.
///
/// An existing folder is used as it is. A local source replaces the URL.
pub(super) fn fetch(entry: &Entry, local: Option<&Path>, folder: &Path) -> Result<u64, Trouble> {
    if !folder.exists() {
        let unfinished = folder.with_extension("unfinished");
        remove_folder(&unfinished)?;
        let fetched = fetch_into(entry, local, &unfinished);
        if fetched.is_err() {
            remove_folder(&unfinished)?;
        }
        fetched?;
        fs::rename(&unfinished, folder).map_err(|error| failed(folder, &error))?;
    }
    let found = output(git(folder).args(["rev-parse", "--quiet", "--verify", BRANCH])).unwrap_or_default();
    if found.trim_end() != entry.commit {
        let found = if found.is_empty() { "none" } else { found.trim_end() };
        let folder = folder.display();
        return Err(Trouble::Differs(vec![format!(
            "{folder}: expected the commit {}, found {found}; remove the folder to fetch it again",
            entry.commit
        )]));
    }
    count(folder, &entry.commit)
}

/// A git command in `folder` that asks no questions and uses no other repository.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for variable in MISLEADING {
        command.env_remove(variable);
    }
    command.env_remove("GIT_DEFAULT_REF_FORMAT");
    // A source that is a partial clone must not fetch missing objects, because that would change the source.
    command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("LC_ALL", "C")]);
    command.arg("-C").arg(folder);
    command
}

fn fetch_into(entry: &Entry, local: Option<&Path>, folder: &Path) -> Result<(), Trouble> {
    make_folder(folder)?;
    let branch = BRANCH.trim_start_matches("refs/heads/");
    let mut init = git(folder);
    // The only ref format that is read here. A git without other formats ignores the setting.
    init.args(["-c", "init.defaultRefFormat=files", "init", "--quiet", "--bare", "--template="]);
    output(init.args(["--object-format=sha1", "-b", branch]))?;
    let source = local.map_or_else(|| PathBuf::from(&entry.url), Path::to_owned);
    let mut fetch = git(folder);
    // Even a few objects stay in the pack that they came in.
    fetch.args(["-c", "fetch.unpackLimit=1", "fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"]);
    fetch.arg(if io::stderr().is_terminal() { "--progress" } else { "--quiet" });
    fetch.arg(&source).arg(format!("{}:{BRANCH}", entry.commit));
    eprintln!("{}: fetching {} from {}", entry.name, entry.commit, source.display());
    match run_and_keep_errors(&mut fetch)? {
        None => Ok(()),
        Some(complaints) if is_permanent(&complaints) => Err(Trouble::Failed(complaints)),
        Some(complaints) => {
            let lacking = local.and_then(|local| lacking(local, &entry.commit));
            Err(Trouble::NotFetched(lacking.unwrap_or(complaints)))
        }
    }
}

/// Runs the command and passes its stderr on. If it fails, returns what it printed there, on one line.
fn run_and_keep_errors(command: &mut Command) -> Result<Option<String>, Trouble> {
    let not_run = |error: io::Error| Trouble::Failed(format!("git fetch: {error}"));
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(not_run)?;
    let mut kept = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut buffer = [0; 4096];
        loop {
            let length = stderr.read(&mut buffer).map_err(not_run)?;
            let Some(piece) = buffer.get(..length).filter(|piece| !piece.is_empty()) else { break };
            io::stderr().write_all(piece).map_err(not_run)?;
            kept.extend_from_slice(piece);
        }
    }
    let status = child.wait().map_err(not_run)?;
    Ok((!status.success()).then(|| complaints(&String::from_utf8_lossy(&kept)).unwrap_or_else(|| status.to_string())))
}

/// Whether git reports a problem that trying again does not solve: a full or unwritable disk, or a commit that the
/// server lacks.
fn is_permanent(complaints: &str) -> bool {
    ["No space left", "Disk quota exceeded", "unable to write", "unable to create", "cannot create", "not our ref"]
        .iter()
        .any(|part| complaints.contains(part))
}

/// The errors in git's output, on one line, without git's progress and the server's, which git shows after `remote:`.
fn complaints(output: &str) -> Option<String> {
    let lines = || output.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let is_progress = |text: &str| {
        let steps = ["Enumerating objects", "Counting objects", "Compressing objects", "Total "];
        text.contains("% (") || steps.iter().any(|step| text.trim_start().starts_with(step))
    };
    let complains = |line: &&str| match line.strip_prefix("remote:") {
        Some(text) => !text.is_empty() && !is_progress(text),
        None => ["fatal:", "error:", "ssh:"].iter().any(|start| line.starts_with(start)),
    };
    let complaints: Vec<&str> = lines().filter(complains).collect();
    if complaints.is_empty() { lines().next_back().map(str::to_owned) } else { Some(complaints.join("; ")) }
}

/// Says which objects that the commit reaches are missing in a local source. `None` if none is, or if the commit itself
/// is.
fn lacking(source: &Path, commit: &str) -> Option<String> {
    let listed = output(git(source).args(["rev-list", "--objects", "--no-object-names", "--missing=print", commit]));
    let listed = listed.ok()?;
    let missing: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix('?')).collect();
    let named = missing.get(..NAMED_OBJECTS.min(missing.len())).filter(|named| !named.is_empty())?.join(", ");
    let more = if missing.len() > NAMED_OBJECTS { ", ..." } else { "" };
    // "At least", because the objects that a missing tree names are unknown.
    let count = missing.len();
    Some(format!("{} lacks at least {count} objects that the commit reaches: {named}{more}", source.display()))
}

/// The number of objects that the commit reaches. They must be all objects of the repository, because sizes are of all
/// objects.
fn count(folder: &Path, commit: &str) -> Result<u64, Trouble> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let counted = output(git(folder).args(["rev-list", "--objects", "--count", commit]))?;
    let reached =
        number(&counted).ok_or_else(|| Trouble::Failed(format!("git rev-list --count printed {counted:?}")))?;
    let held = output(git(folder).args(["count-objects", "-v"]))?;
    let of = |name: &str| held.lines().find_map(|line| line.strip_prefix(name)).and_then(number).unwrap_or_default();
    let held = of("count: ").saturating_add(of("in-pack: "));
    if held == reached {
        return Ok(reached);
    }
    let folder = folder.display();
    Err(Trouble::Differs(vec![format!("{folder} has {held} objects, but its commit reaches {reached}")]))
}

#[cfg(test)]
mod tests {
    use super::{complaints, is_permanent};

    #[test]
    fn errors_of_git_are_kept_on_one_line() {
        let output =
            "Receiving objects:  50% (1/2)\rReceiving objects: 100% (2/2)\nerror: no such thing\nfatal: the end\n";
        assert_eq!(complaints(output).as_deref(), Some("error: no such thing; fatal: the end"));
        let output = "remote: Enumerating objects: 12\rremote: Enumerating objects: 12345, done.        \n\
            remote: Counting objects:   0% (1/9999)        \rremote: Counting objects: 100% (9999/9999), done.\n\
            remote: Total 9999 (delta 1), reused 9 (delta 1), pack-reused 0\nReceiving objects:  50% (1/2)\r\
            remote: \nremote: Not Found\nfatal: early EOF\n";
        assert_eq!(complaints(output).as_deref(), Some("remote: Not Found; fatal: early EOF"));
        assert_eq!(complaints("line one\nline two\n\n").as_deref(), Some("line two"));
        assert_eq!(complaints("\n"), None);
    }

    #[test]
    fn permanent_failures_differ_from_network_failures() {
        for words in [
            "fatal: write error: No space left on device; fatal: fetch-pack: invalid index-pack output",
            "fatal: remote error: upload-pack: not our ref 0123",
        ] {
            assert!(is_permanent(words), "{words}");
        }
        for words in ["fatal: unable to access 'https://a/': Could not resolve host: a", "fatal: early EOF"] {
            assert!(!is_permanent(words), "{words}");
        }
    }
}
