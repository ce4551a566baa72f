//! `repackbench replay`: a workload sees what hg reports, on the source as found and on a variant.

mod patches;
mod revisions;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::support::fixture::HG_CONVERTIBLE;
use crate::support::hg::{self, HgServer, Revlog};
use crate::support::log::{assert_same_lines, sorted};
use crate::support::program::{self, convert, exit, text};
use crate::support::{Fixture, Scratch, snapshot};

/// Texts to search for in every history. Some occur and some do not.
const NEEDLES: [&str; 4] = ["foo", "amber", "rewrote this line", "nowhere to be found"];

/// A fixture, a variant of it, and an hg whose answers are the reference.
struct Subject {
    scratch: Scratch,
    /// The repositories to replay: the source as found and a variant under another engine.
    repos: [PathBuf; 2],
    /// The copy that hg reads.
    judged: PathBuf,
    hg: HgServer,
    manifests: HashMap<i64, Rc<Manifest>>,
    contents: HashMap<(Vec<u8>, String), Rc<Vec<u8>>>,
    /// Whether empty files are censored.
    is_censored: bool,
}

/// The mode and node of a file.
type Version = (&'static str, String);

type Manifest = BTreeMap<Vec<u8>, Version>;

/// A changeset: its number and node, and the number of its first parent.
#[derive(Clone)]
struct Changeset {
    number: i64,
    node: String,
    parent: i64,
}

impl Subject {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new();
        let source = Fixture::hg(name).repo();
        let (variant, judged) = (scratch.join("variant"), Fixture::hg_copy(name, &scratch).repo());
        convert(&source, "lz4hc:4", &variant);
        if name == "largefiles" {
            // Without the extension hg shows the stored content of large files: a line with a hash.
            fs::remove_file(judged.join(".hg/hgrc")).expect("the setting that loads the extension");
            for file in [".hg/requires", ".hg/store/requires"].map(|file| judged.join(file)) {
                let lines = fs::read_to_string(&file).expect("requirements");
                fs::write(&file, lines.replace("largefiles\n", "")).expect("requirements");
            }
        }
        Subject {
            hg: HgServer::newest(&judged),
            repos: [source, variant],
            judged,
            scratch,
            manifests: HashMap::new(),
            contents: HashMap::new(),
            is_censored: name == "censored",
        }
    }

    /// Fails the test unless the workload sees `expected` in both repositories.
    #[track_caller]
    fn sees(&self, workload: &str, options: &[&str], expected: &[String], order: impl Fn(Vec<String>) -> Vec<String>) {
        let expected = order(expected.to_vec());
        for repo in &self.repos {
            let seen = order(replay(repo, workload, options));
            let what = format!("{workload} {options:?} of {}", repo.display());
            assert_same_lines(&seen, &expected, &what);
        }
    }

    /// The changesets of a revset, in its order.
    fn changesets(&mut self, revset: &str) -> Vec<Changeset> {
        let lines = self.hg.lines(&["log", "--hidden", "-r", revset, "-T", "{rev} {node} {p1rev}\n"]);
        let parse = |line: &String| {
            let words: Vec<&str> = line.split(' ').collect();
            let [number, node, parent] = words[..] else { panic!("{line}") };
            let [number, parent] = [number, parent].map(|word| word.parse().expect("the number of a revision"));
            Changeset { number, node: node.to_owned(), parent }
        };
        lines.iter().map(parse).collect()
    }

    fn manifest(&mut self, number: i64) -> Rc<Manifest> {
        if number < 0 {
            return Rc::default();
        }
        if let Some(manifest) = self.manifests.get(&number) {
            return Rc::clone(manifest);
        }
        let listed = self.hg.output(["manifest", "--hidden", "--debug", "-r", &number.to_string()]);
        let lines = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let manifest = Rc::new(lines.map(parse_manifest_line).collect::<Manifest>());
        self.manifests.insert(number, Rc::clone(&manifest));
        manifest
    }

    /// The paths that differ between a changeset and its first parent, with both versions.
    fn changes(&mut self, changeset: &Changeset) -> Vec<(Vec<u8>, [Option<Version>; 2])> {
        let (old, new) = (self.manifest(changeset.parent), self.manifest(changeset.number));
        let paths: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        let both = paths.into_iter().map(|path| (path.clone(), [old.get(path).cloned(), new.get(path).cloned()]));
        both.filter(|(_, [old, new])| old != new).collect()
    }

    /// The number of times that the needle occurs in a file revision, as `hg cat` writes it.
    fn occurrences(&mut self, changeset: i64, path: &[u8], node: &str, needle: &str) -> usize {
        let key = (path.to_vec(), node.to_owned());
        if !self.contents.contains_key(&key) {
            let name = OsString::from_vec([b"path:".as_slice(), path].concat());
            let number = changeset.to_string();
            let arguments = ["cat", "--hidden", "-r", &number].map(OsString::from).into_iter().chain([name]);
            self.contents.insert(key.clone(), Rc::new(self.hg.output(arguments)));
        }
        count(&self.contents[&key], needle.as_bytes())
    }

    fn traverse_agrees(&mut self) {
        let mut expected = Vec::new();
        for revlog in hg::revlogs(&self.judged) {
            expected.extend(self.hg.index(&revlog).into_iter().map(|revision| revision.node));
        }
        self.sees("traverse", &[], &expected, sorted);
    }

    /// The changes between manifests, which `hg status` has to confirm.
    fn raw_agrees(&mut self, start: &Changeset) {
        let mut expected = Vec::new();
        for changeset in self.changesets(&format!("reverse(::{})", start.number)) {
            expected.push(format!("commit {}", changeset.node));
            let mut letters = BTreeSet::new();
            for (path, versions) in self.changes(&changeset) {
                let (line, letter) = raw_line(&path, &versions);
                expected.push(line);
                letters.insert((letter, path));
            }
            assert_eq!(letters, self.status(&changeset), "{}", changeset.number);
        }
        self.sees("diff:raw", &["--rev", &start.node], &expected, sorted_within_commits);
    }

    fn status(&mut self, changeset: &Changeset) -> BTreeSet<(char, Vec<u8>)> {
        let name = |number: i64| if number < 0 { "null".to_owned() } else { number.to_string() };
        let revisions = [changeset.parent, changeset.number].map(name);
        let [old, new] = revisions.each_ref().map(String::as_str);
        let listed = self.hg.output(["status", "--hidden", "-mar", "--print0", "--rev", old, "--rev", new]);
        let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        entries.map(|entry| (char::from(entry[0]), entry[2..].to_vec())).collect()
    }

    fn pickaxe_agrees(&mut self, start: &Changeset, needle: &str) -> usize {
        let mut expected = Vec::new();
        for changeset in self.changesets(&format!("reverse(::{})", start.number)) {
            let mut is_hit = false;
            for (path, [old, new]) in self.changes(&changeset) {
                let mut occurrences = |number, version: Option<(_, String)>| {
                    version.map_or(0, |(_, node)| self.occurrences(number, &path, &node, needle))
                };
                is_hit |= occurrences(changeset.parent, old) != occurrences(changeset.number, new);
            }
            expected.extend(is_hit.then_some(changeset.node));
        }
        self.sees(&format!("diff:pickaxe={needle}"), &["--rev", &start.node], &expected, |lines| lines);
        expected.len()
    }

    fn checkout_agrees(&mut self, changeset: &Changeset) {
        let by_hg = self.scratch.join(&format!("by-hg-{}", changeset.number));
        self.hg.archive(&changeset.node, &by_hg);
        // hg makes no folder for a revision without files.
        let mut expected = if by_hg.exists() { snapshot::content(&by_hg) } else { BTreeMap::new() };
        let is_empty =
            |entry: &snapshot::Entry| matches!(entry, snapshot::Entry::File { content, .. } if content.is_empty());
        // Checkout leaves out censored files and counts them.
        let before = expected.len();
        expected.retain(|_, entry| !(self.is_censored && is_empty(entry)));
        let censored = before - expected.len();
        for (place, repo) in self.repos.iter().enumerate() {
            let into = self.scratch.join(&format!("into-{place}-{}", changeset.number));
            let options = ["--rev", &changeset.node, "--output", text(&into)];
            let outcome = program::replay(repo, "checkout", &options).exits(exit::OK);
            let (count, said) = (format!("{censored} objects are missing"), outcome.stderr);
            assert!(if censored == 0 { !said.contains("missing") } else { said.contains(&count) }, "{said}");
            snapshot::assert_same(&expected, &snapshot::content(&into));
        }
    }
}

#[track_caller]
fn replay(repo: &Path, workload: &str, options: &[&str]) -> Vec<String> {
    program::replay(repo, workload, options).exits(exit::OK).text().lines().map(str::to_owned).collect()
}

/// `NODE MODE DECORATION PATH`, the decoration one character: `@` for a link.
fn parse_manifest_line(line: &[u8]) -> (Vec<u8>, Version) {
    let mode = match (&line[41..44], line[45]) {
        (b"644", b' ') => "100644",
        (b"755", b'*') => "100755",
        (b"644", b'@') => "120000",
        _ => panic!("{}", String::from_utf8_lossy(line)),
    };
    (line[47..].to_vec(), (mode, String::from_utf8_lossy(&line[..40]).into_owned()))
}

/// A change in the format of `git log --raw`, and the letter of `hg status` for it.
fn raw_line(path: &[u8], [old, new]: &[Option<Version>; 2]) -> (String, char) {
    let absent = ("000000", "0".repeat(40));
    let (letter, status) = match (old, new) {
        (None, _) => ('A', 'A'),
        (_, None) => ('R', 'D'),
        (Some((old, _)), Some((new, _))) if (*old == "120000") != (*new == "120000") => ('M', 'T'),
        _ => ('M', 'M'),
    };
    let [(old_mode, old_node), (new_mode, new_node)] =
        [old, new].map(|version| version.clone().unwrap_or_else(|| absent.clone()));
    (format!(":{old_mode} {new_mode} {old_node} {new_node} {status}\t{}", quoted(path)), letter)
}

/// A path as git prints it, in quotes and escaped if necessary.
fn quoted(path: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'\t' => "\\t".to_owned(),
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\x07' => "\\a".to_owned(),
        0x20..0x7f => char::from(*byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    let escaped: String = path.iter().map(escape).collect();
    if escaped.as_bytes() == path { escaped } else { format!("\"{escaped}\"") }
}

/// The number of occurrences of `needle` that do not overlap.
fn count(mut content: &[u8], needle: &[u8]) -> usize {
    let mut found = 0;
    while let Some(at) = content.windows(needle.len()).position(|window| window == needle) {
        found += 1;
        content = &content[at + needle.len()..];
    }
    found
}

/// Sorts the lines after each `commit`, as hg lists files in another order.
fn sorted_within_commits(lines: Vec<String>) -> Vec<String> {
    let mut commits: Vec<Vec<String>> = Vec::new();
    for line in lines {
        if line.starts_with("commit ") {
            commits.push(Vec::new());
        }
        commits.last_mut().expect("a commit first").push(line);
    }
    // `:` comes before `c`.
    commits.into_iter().flat_map(|lines| sorted(lines).into_iter().rev()).collect()
}

/// Compares all workloads on a fixture with hg. Returns the number of hits of all searches.
fn replays(name: &str) -> usize {
    let mut subject = Subject::new(name);
    subject.traverse_agrees();
    let heads = subject.changesets("reverse(head() or max(all()))");
    let mut found = 0;
    for start in &heads {
        subject.raw_agrees(start);
        found += NEEDLES.iter().map(|needle| subject.pickaxe_agrees(start, needle)).sum::<usize>();
    }
    for changeset in subject.changesets("head() or max(all()) or first(all(), 2)") {
        subject.checkout_agrees(&changeset);
    }
    found
}

/// Each layout of the sample history is read by different code.
#[test]
fn layouts_of_the_store() {
    for name in ["no-generaldelta", "treemanifest", "no-fncache", "fileindex", "uncompressed", "63-zlib"] {
        assert!(replays(name) > 10, "something to find in {name}");
    }
}

#[test]
fn shapes_of_history() {
    for name in ["branches", "evolution", "internal-phase"] {
        assert!(replays(name) > 10, "something to find in {name}");
    }
}

#[test]
fn kinds_of_content() {
    for (name, found) in [("content", 4), ("names", 0), ("no-dotencode", 10), ("censored", 0), ("inline-large", 1)] {
        assert!(replays(name) >= found, "something to find in {name}");
    }
}

#[test]
fn content_stored_elsewhere() {
    replays("lfs");
    assert!(replays("largefiles") > 10);
}

#[test]
fn long_chains() {
    let mut subject = Subject::new("chains");
    subject.traverse_agrees();
    for changeset in subject.changesets("17 or 230 or 399") {
        subject.checkout_agrees(&changeset);
    }
}

#[test]
fn traverse_visits_every_revision_of_every_fixture() {
    for name in HG_CONVERTIBLE {
        let (scratch, lines) = (Scratch::new(), replay(&Fixture::hg(name).repo(), "traverse", &[]).len());
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let mut hg = HgServer::newest(&repo);
        let changesets = hg.index(&Revlog::Changelog).len();
        let manifests = hg.index(&Revlog::Manifest).len();
        assert!(lines >= changesets + manifests, "{name}: {lines} lines for {changesets} changesets");
        assert_eq!(lines == 0, *name == "empty");
    }
}

#[test]
fn counts_unfetched_lfs_files_as_missing() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("lfs", &scratch).repo();
    let objects = snapshot::content(&repo.join(".hg/store/lfs/objects"));
    for (path, entry) in objects {
        if matches!(entry, snapshot::Entry::File { .. }) {
            fs::remove_file(repo.join(".hg/store/lfs/objects").join(path)).expect("an object");
        }
    }
    let into = scratch.join("into");
    let outcome = program::replay(&repo, "checkout", &["--output", text(&into)]).exits(exit::OK);
    assert!(outcome.stderr.contains("1 objects are missing"), "{}", outcome.stderr);
    assert!(into.join("small.txt").exists() && !into.join("moved.txt").exists());
}

#[test]
fn sizes_equal_those_of_the_texts() {
    for name in ["history", "chains", "censored"] {
        let (source, scratch) = (Fixture::hg(name).repo(), Scratch::new());
        let variant = scratch.join("variant");
        convert(&source, "lz4", &variant);
        let sizes = program::replay(&variant, "sizes", &[]).exits(exit::OK).text();
        let texts = program::replay(&variant, "cat-all", &[]).exits(exit::OK).stdout;
        assert!(texts == program::replay(&source, "cat-all", &[]).exits(exit::OK).stdout, "{name}");
        let mut rest = texts.as_slice();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for line in sizes.lines() {
            let header = rest.get(..line.len()).expect("a header");
            assert_eq!(String::from_utf8_lossy(header), line, "{name}");
            let size: usize = line.rsplit(' ').next().expect("a size").parse().expect("a size");
            rest = &rest[line.len() + size + 2..];
            *seen.entry(line.split(' ').nth(1).expect("a kind")).or_default() += 1;
        }
        assert!(rest.is_empty());
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), ["changelog", "filelog", "manifest"]);
        assert_eq!(seen["changelog"], hg::changesets(&Fixture::hg_copy(name, &scratch).repo()).lines().count());
    }
}
