//! `cargo xtask results`: the page of results, from committed records; and the records, from a folder of repositories.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::files::{failed, make_folder, read_text, remove_folder};
use crate::process::{self, Failure, Outcome, cargo};

const USAGE: &str = "\
usage: cargo xtask results [--check]
       cargo xtask results collect FOLDER... --out FILE [--only NAME]... [--except NAME]... [--program FILE] [--list]
                                   [-- OPTION...]
  --check        write nothing, and fail if the pages are not those that the records give
  FOLDER         a folder with listed repositories: owner/name, owner/name.git, owner+name/repo, name or name.git in it
  --out FILE     the records, such as docs/results/records/2026-11.jsonl. If it exists, the work on it goes on
  --only NAME    measure only the repositories of these names
  --except NAME  measure no repository of these names
  --program FILE the repackbench that measures (default: built from this checkout)
  --list         say which listed repositories are in the folders, and measure nothing
  OPTION         for repackbench fleet, such as --time 60s or --bench 33%";

/// The codecs of the page. The baseline, zlib:6, is always there, and its second row shows how exact predictions are.
const CODECS: [&str; 16] = [
    "zlib:1",
    "zlib:6",
    "zlib:9",
    "zlib-rs:6",
    "libdeflate:6",
    "libdeflate:12",
    "zstd:1",
    "zstd:3",
    "zstd:9",
    "zstd:19",
    "lz4",
    "lz4hc:9",
    "brotli:5",
    "balanced",
    "best-read",
    "best-size",
];

/// The kind of repositories in Mercurial.
const CONVERTED: &str = "converted-mercurial";

/// The end of their names, which their folders need not have.
const HG_SUFFIX: &str = "-hg";

/// A line of the list, as far as it matters here: the program checks the rest.
#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    kind: String,
}

/// What `collect` is asked to do.
#[derive(Debug, Default)]
struct Collect {
    folders: Vec<PathBuf>,
    out: PathBuf,
    program: Option<PathBuf>,
    list: bool,
    only: Vec<String>,
    except: Vec<String>,
    options: Vec<OsString>,
}

/// Runs the chore.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    let words: Vec<Option<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    match words.as_slice() {
        [] => process::run(page().arg(folder())),
        [Some("--check")] => process::run(page().arg(folder()).arg("--check")),
        [Some("collect"), ..] => collect(&parse(arguments.get(1..).unwrap_or_default())?),
        _ => Err(Failure(USAGE.to_owned())),
    }
}

fn folder() -> PathBuf {
    crate::workspace_root().join("docs").join("results")
}

/// The program that makes the page, as `cargo test` builds it.
fn page() -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--locked", "--package", "repackbench-cli", "--", "results-page"]);
    command
}

fn parse(words: &[OsString]) -> Outcome<Collect> {
    let usage = || Failure(USAGE.to_owned());
    let mut collect = Collect::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut path = || words.next().and_then(|word| std::path::absolute(word).ok()).ok_or_else(usage);
        match word.to_str() {
            Some("--out") => collect.out = path()?,
            Some("--program") => collect.program = Some(path()?),
            Some("--list") => collect.list = true,
            Some(option @ ("--only" | "--except")) => {
                let name = words.next().and_then(|word| word.to_str()).ok_or_else(usage)?.to_owned();
                if option == "--only" { collect.only.push(name) } else { collect.except.push(name) }
            }
            Some("--") => collect.options = words.by_ref().cloned().collect(),
            Some(option) if option.starts_with('-') => return Err(usage()),
            _ => collect.folders.push(std::path::absolute(word).map_err(|_| usage())?),
        }
    }
    let is_complete = !collect.folders.is_empty() && (collect.list || !collect.out.as_os_str().is_empty());
    if is_complete { Ok(collect) } else { Err(usage()) }
}

impl Collect {
    /// The listed repositories to measure. A name that is not in the list is an error, since it may be misspelt.
    fn wanted(&self, mut listed: Vec<Listed>) -> Outcome<Vec<Listed>> {
        let is_listed = |name: &&String| listed.iter().any(|listed| listed.name == **name);
        if let Some(name) = self.only.iter().chain(&self.except).find(|name| !is_listed(name)) {
            return Err(Failure(format!("no listed repository is called {name}")));
        }
        let is_named = |names: &[String], listed: &Listed| names.contains(&listed.name);
        listed.retain(|listed| self.only.is_empty() || is_named(&self.only, listed));
        listed.retain(|listed| !is_named(&self.except, listed));
        Ok(listed)
    }
}

/// Measures the listed repositories in the folders.
///
/// The fleet runs in a folder of links that are called as the repositories, beside its records. All its paths are
/// relative, so that no record names a path of this machine.
fn collect(collect: &Collect) -> Outcome<()> {
    let list = folder().join("repositories.jsonl");
    let text = read_text(&list)?;
    let listed = collect.wanted(listed(&text)?)?;
    let found = find(&listed, &collect.folders);
    for (name, path) in &found {
        match path {
            Some(path) => eprintln!("{name}: {}", path.display()),
            None => eprintln!("{name}: not in the folders"),
        }
    }
    if collect.list {
        return Ok(());
    }
    let work = collect.out.with_extension("links");
    remove_folder(&work)?;
    make_folder(&work)?;
    let mut manifest = String::new();
    for (name, path) in found.iter().filter_map(|(name, path)| Some((name, path.as_ref()?))) {
        let link = work.join(name);
        make_folder(link.parent().unwrap_or(&work))?;
        symlink(path, &link).map_err(|error| failed(&link, &error))?;
        manifest += &(serde_json::json!({"name": name, "path": name}).to_string() + "\n");
    }
    let file = work.join("repositories.jsonl");
    fs::write(&file, manifest).map_err(|error| failed(&file, &error))?;
    let program = match &collect.program {
        Some(program) => program.clone(),
        None => {
            process::run(cargo().args(["build", "--release", "--locked", "--package", "repackbench-cli"]))?;
            crate::target_dir().join("release").join("repackbench")
        }
    };
    process::run(&mut fleet(&program, &work, &collect.out, &collect.options))?;
    remove_folder(&work)
}

fn fleet(program: &Path, work: &Path, out: &Path, options: &[OsString]) -> Command {
    let mut command = Command::new(program);
    let out = Path::new("..").join(out.file_name().unwrap_or_default());
    command.current_dir(work).args(["fleet", "repositories.jsonl", "--resume", "--json"]).arg(out);
    let names_codecs = options.iter().any(|option| option == "--codec");
    if !names_codecs {
        command.args(CODECS.iter().flat_map(|codec| ["--codec", codec]));
    }
    command.args(options);
    command
}

fn listed(text: &str) -> Outcome<Vec<Listed>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(at, line)| {
        serde_json::from_str(line).map_err(|error| Failure(format!("repositories.jsonl: line {}: {error}", at + 1)))
    };
    lines.map(parse).collect()
}

/// Where each listed repository is.
fn find(listed: &[Listed], folders: &[PathBuf]) -> BTreeMap<String, Option<PathBuf>> {
    let of = |listed: &Listed| {
        let mut places = folders.iter().flat_map(|folder| places(listed).into_iter().map(|place| folder.join(place)));
        (listed.name.clone(), places.find(|path| is_repository(path, listed.kind == CONVERTED)))
    };
    listed.iter().map(of).collect()
}

/// The paths below a folder where the repository may be.
fn places(listed: &Listed) -> Vec<PathBuf> {
    let mut names = vec![listed.name.as_str()];
    if listed.kind == CONVERTED {
        names.extend(listed.name.strip_suffix(HG_SUFFIX));
    }
    let of_name = |name: &str| {
        let last = Path::new(name).file_name().and_then(OsStr::to_str).unwrap_or(name);
        let joined = name.replace('/', "+");
        [
            name.to_owned(),
            format!("{name}.git"),
            format!("{joined}/repo"),
            joined,
            last.to_owned(),
            format!("{last}.git"),
        ]
        .map(PathBuf::from)
    };
    names.into_iter().flat_map(of_name).collect()
}

/// Whether there is a repository of Mercurial, or of Git.
fn is_repository(path: &Path, is_mercurial: bool) -> bool {
    let has = |name: &str| path.join(name).exists();
    let is_git = has(".git") || (has("HEAD") && has("objects"));
    if is_mercurial { has(".hg") } else { is_git && !has(".hg") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<Listed> {
        listed(include_str!("../../docs/results/repositories.jsonl")).unwrap()
    }

    #[test]
    fn repositories_are_found_under_any_of_their_names() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        for path in ["a/one/x/HEAD", "a/one/x/objects", "a/one+y/repo/.git", "b/z/.hg", "a/z/.git", "b/two.git/.git"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let of = |name: &str, kind: &str| Listed { name: name.to_owned(), kind: kind.to_owned() };
        let listed = [
            of("one/x", "source"),
            of("one/y", "source"),
            of("one/z", "source"),
            of("one/z-hg", CONVERTED),
            of("any/two", "source"),
            of("one/none", "source"),
        ];
        let found = find(&listed, &[root.join("a"), root.join("b")]);
        let found: Vec<_> = found
            .iter()
            .map(|(name, path)| (name.as_str(), path.as_ref().map(|path| path.strip_prefix(root).unwrap().to_owned())))
            .collect();
        let at = |path: &str| Some(PathBuf::from(path));
        let expected = [
            ("any/two", at("b/two.git")),
            ("one/none", None),
            ("one/x", at("a/one/x")),
            ("one/y", at("a/one+y/repo")),
            ("one/z", at("a/z")),
            ("one/z-hg", at("b/z")),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_select_repositories() {
        let wanted = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let names = parse(&words)?.wanted(list())?.into_iter().map(|listed| listed.name);
            Ok::<Vec<String>, Failure>(names.collect())
        };
        assert_eq!(wanted("/srv --list --only sharkdp/fd --only git/git").unwrap(), ["git/git", "sharkdp/fd"]);
        let others = wanted("/srv --list --except sharkdp/fd").unwrap();
        assert_eq!((others.len(), others.contains(&"sharkdp/fd".to_owned())), (list().len() - 1, false));
        assert_eq!(wanted("/srv --list --only sharkdp/df").unwrap_err().0, "no listed repository is called sharkdp/df");
        assert!(wanted("/srv --only sharkdp/fd").is_err(), "no --out");
    }

    /// A repository that specs were chosen on must not be in a summary because another list does not say so.
    #[test]
    fn lists_agree_on_what_specs_were_chosen_on() {
        #[derive(Deserialize)]
        struct Entry {
            url: String,
            #[serde(default)]
            chosen_on: bool,
            #[serde(default)]
            role: String,
        }
        #[derive(Deserialize)]
        struct Corpus {
            repositories: Vec<Entry>,
        }
        let corpus: Corpus = serde_json::from_str(include_str!("../data/corpus.json")).unwrap();
        let corpus: Vec<Entry> = corpus.repositories.into_iter().filter(|entry| entry.role == "chosen-on").collect();
        assert!(!corpus.is_empty());
        let lines = include_str!("../../docs/results/repositories.jsonl").lines();
        let list: Vec<Entry> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        for entry in &corpus {
            let same: Vec<&Entry> = list.iter().filter(|other| other.url == entry.url).collect();
            assert!(!same.is_empty() && same.iter().all(|other| other.chosen_on), "{}", entry.url);
        }
        for entry in list.iter().filter(|entry| entry.chosen_on) {
            assert!(corpus.iter().any(|other| other.url == entry.url), "{}", entry.url);
        }
    }

    #[test]
    fn list_has_enough_repositories_of_each_kind() {
        let list = list();
        let of = |kind: &str| list.iter().filter(|listed| listed.kind == kind).count();
        assert!(list.len() - of(CONVERTED) >= 25 && of(CONVERTED) >= 5);
        for kind in ["source", "documents", "compressed", "drawings", "translations", "monorepo"] {
            assert!(of(kind) > 0, "{kind}");
        }
    }

    /// The bytes as found of each repository that a committed record estimates.
    fn estimated() -> BTreeMap<String, u64> {
        #[derive(Deserialize)]
        struct Estimate {
            repository: Repository,
            as_found: State,
        }
        #[derive(Deserialize)]
        struct Repository {
            name: String,
        }
        #[derive(Deserialize)]
        struct State {
            total_bytes: u64,
        }
        let mut found = BTreeMap::new();
        for path in crate::files::with_extension(&folder().join("records"), "jsonl").unwrap() {
            let text = read_text(&path).unwrap();
            for line in text.lines().filter(|line| line.starts_with(r#"{"record":"estimate""#)) {
                let estimate: Estimate = serde_json::from_str(line).unwrap();
                found.insert(estimate.repository.name, estimate.as_found.total_bytes);
            }
        }
        found
    }

    /// What is listed counts only with a record. The aim is 25 Git repositories of 3 to 500 MB, and one of each
    /// kind.
    #[test]
    fn records_have_enough_repositories_of_each_kind() {
        let (list, estimated) = (list(), estimated());
        let with_record = || list.iter().filter_map(|listed| Some((listed, *estimated.get(&listed.name)?)));
        let of = |kind: &str| with_record().filter(|(listed, _)| listed.kind == kind).count();
        let git = || with_record().filter(|(listed, _)| listed.kind != CONVERTED);
        assert!(git().count() >= 25 && of(CONVERTED) >= 5, "{} {}", git().count(), of(CONVERTED));
        let of_meant_size = git().filter(|(_, bytes)| (3_000_000..=500_000_000).contains(bytes)).count();
        assert!(of_meant_size >= 25, "{of_meant_size}");
        for kind in ["source", "documents", "compressed", "drawings", "translations", "monorepo"] {
            assert!(of(kind) > 0, "{kind}");
        }
    }

    #[test]
    fn fleet_has_only_relative_paths() {
        let fleet = |options: &[OsString]| {
            fleet(Path::new("repackbench"), Path::new("/srv/new.links"), Path::new("/srv/new.jsonl"), options)
        };
        let command = fleet(&["--time".into(), "5s".into()]);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert!(words.iter().all(|word| !word.starts_with('/')), "{words:?}");
        assert_eq!(words.iter().filter(|word| *word == "--codec").count(), CODECS.len());
        assert!(words.contains(&"../new.jsonl".to_owned()), "{words:?}");
        let own = fleet(&["--codec".into(), "lz4".into()]);
        assert_eq!(own.get_args().filter(|word| *word == "--codec").count(), 1);
    }
}
