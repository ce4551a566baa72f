//! Varied repositories, made by git from the histories of others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::wrong;
use crate::draw::Draw;
use crate::files;
use crate::process::{self, Outcome};

/// The greatest number of commits of a repository.
const MOST_COMMITS: usize = 1500;
/// Those of a repository whose making takes longer for each commit.
const FEW_COMMITS: usize = 150;

/// The kinds of repositories. The names begin with theirs.
const KINDS: [&str; 20] = [
    "pack", "packs", "loose", "pack", "repacked", "shallow", "pack", "paths", "packs", "sha256", "pack", "repacked",
    "loose", "pack", "mixed", "shallow", "paths", "pack", "empty", "damaged",
];

/// A history to cut repositories from.
struct Source {
    path: PathBuf,
    name: String,
    /// The commits of the first-parent line, the oldest first.
    line: Vec<String>,
    /// The files and folders of the newest commit.
    entries: Vec<String>,
}

/// Makes `count` repositories in `forge`. Returns their names.
pub(super) fn repositories(forge: &Path, sources: &[PathBuf], count: usize, draw: &mut Draw) -> Outcome<Vec<String>> {
    let sources = sources.iter().map(|path| Source::open(path)).collect::<Outcome<Vec<_>>>()?;
    let mut names = Vec::new();
    for number in 0..count {
        let kind = KINDS.get(number % KINDS.len()).copied().unwrap_or("pack");
        let source =
            sources.get(draw.below(sources.len())).ok_or_else(|| wrong("no repository to make others from"))?;
        let name = format!("{kind}-{number:04}-{}.git", source.name);
        let place = forge.join(&name);
        source.make(kind, &place, draw)?;
        names.push(name);
        if (number + 1) % 100 == 0 {
            eprintln!("made {} of {count} repositories", number + 1);
        }
    }
    Ok(names)
}

/// How many repositories each kind has.
pub(super) fn counts(names: &[String]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (kind, _) in names.iter().filter_map(|name| name.split_once('-')) {
        *kinds.entry(kind).or_default() += 1;
    }
    kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// git without the user's configuration, on `repository`.
fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.arg("-C").arg(repository).args(["-c", "safe.directory=*", "-c", "gc.auto=0"]);
    command
}

impl Source {
    fn open(path: &Path) -> Outcome<Self> {
        let list = process::output(git(path).args(["rev-list", "--first-parent", "--reverse", "HEAD"]))?;
        let line: Vec<String> = list.lines().map(str::to_owned).collect();
        if line.is_empty() {
            return Err(wrong(format!("{}: it has no commits", path.display())));
        }
        let listed = process::output(git(path).args(["ls-tree", "--name-only", "HEAD"]))?;
        let entries = listed.lines().filter(|name| !name.starts_with('"')).map(str::to_owned).collect();
        Ok(Source { path: path.to_owned(), name: name_of(path), line, entries })
    }

    fn make(&self, kind: &str, place: &Path, draw: &mut Draw) -> Outcome<()> {
        let format = if kind == "sha256" { "sha256" } else { "sha1" };
        let mut init = Command::new("git");
        init.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").args(["init", "-q", "--bare"]);
        process::output(init.args(["-b", "main", "--object-format", format]).arg(place))?;
        match kind {
            "empty" => Ok(()),
            "loose" => self.packs(place, &self.cuts(1, FEW_COMMITS, draw), true),
            "mixed" => {
                let cuts = self.cuts(2, FEW_COMMITS, draw);
                let (old, new) = cuts.split_at(1);
                self.packs(place, old, false)?;
                self.send(place, old.first(), new.last(), true)
            }
            "packs" => self.packs(place, &self.cuts(2 + draw.below(6), MOST_COMMITS, draw), false),
            "repacked" => {
                self.packs(place, &self.cuts(2, FEW_COMMITS, draw), false)?;
                process::output(git(place).args(["repack", "-adfq", "--threads=1"])).map(drop)
            }
            "shallow" => self.shallow(place, draw),
            "paths" | "sha256" => self.exported(place, draw),
            "damaged" => {
                self.packs(place, &self.cuts(1, MOST_COMMITS, draw), false)?;
                damage(place)
            }
            _ => self.packs(place, &self.cuts(1, MOST_COMMITS, draw), false),
        }
    }

    /// `count` commits of the line, at most the first `most`, the oldest first. Early ones are more frequent, as small
    /// repositories are.
    fn cuts(&self, count: usize, most: usize, draw: &mut Draw) -> Vec<&str> {
        let len = self.line.len().min(most);
        let mut places: Vec<usize> = (0..count)
            .map(|_| {
                let end = draw.below(len) + 1;
                draw.below(end)
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().filter_map(|place| self.line.get(place).map(String::as_str)).collect()
    }

    /// Copies the history up to the last cut, with a pack for what each of them adds, or loose.
    fn packs(&self, place: &Path, cuts: &[&str], is_loose: bool) -> Outcome<()> {
        let mut before = None;
        for cut in cuts {
            self.send(place, before, Some(cut), is_loose)?;
            before = Some(cut);
        }
        Ok(())
    }

    /// Copies what `new` reaches and `old` does not, and lets the branch show `new`.
    fn send(&self, place: &Path, old: Option<&&str>, new: Option<&&str>, is_loose: bool) -> Outcome<()> {
        let Some(new) = new else { return Ok(()) };
        let pack = place.join("sent");
        let out = File::create(&pack).map_err(|error| files::failed(&pack, &error))?;
        let wanted = place.join("wanted");
        let text = format!("{new}\n{}", old.map(|old| format!("^{old}\n")).unwrap_or_default());
        fs::write(&wanted, text).map_err(|error| files::failed(&wanted, &error))?;
        let words = ["pack-objects", "-q", "--stdout", "--revs", "--delta-base-offset", "--threads=1"];
        run(git(&self.path).args(words).stdin(open(&wanted)?).stdout(out))?;
        let receive: &[&str] = if is_loose { &["unpack-objects", "-q"] } else { &["index-pack", "--stdin"] };
        run(git(place).args(receive).stdin(open(&pack)?).stdout(Stdio::null()))?;
        for file in [&pack, &wanted] {
            fs::remove_file(file).map_err(|error| files::failed(file, &error))?;
        }
        process::output(git(place).args(["update-ref", "refs/heads/main", new])).map(drop)
    }

    /// A shallow clone of some commits.
    fn shallow(&self, place: &Path, draw: &mut Draw) -> Outcome<()> {
        let cuts = self.cuts(1, MOST_COMMITS, draw);
        let depth = format!("--depth={}", 1 + draw.below(40));
        let mut fetch = git(place);
        fetch.args(["-c", "protocol.file.allow=always", "fetch", "-q", "--no-tags", &depth]);
        fetch.args(["--upload-pack", "git -c safe.directory=* -c uploadpack.allowAnySHA1InWant=true upload-pack"]);
        fetch.arg(format!("file://{}", self.path.display()));
        fetch.args(cuts.iter().map(|cut| format!("{cut}:refs/heads/main")));
        process::output(&mut fetch).map(drop)
    }

    /// The history of some files or folders alone, as objects that the source does not have.
    fn exported(&self, place: &Path, draw: &mut Draw) -> Outcome<()> {
        let cuts = self.cuts(1, FEW_COMMITS, draw);
        let stream = place.join("exported");
        let out = File::create(&stream).map_err(|error| files::failed(&stream, &error))?;
        let mut export = git(&self.path);
        // git drops the first of two, and without the second it does not take names in a bare repository for paths.
        export.args(["fast-export", "--reencode=yes"]).args(&cuts).args(["--", "--"]).stdout(out);
        // Everything, if the drawn entry did not exist yet: then the repository is empty, which is a kind, too.
        if let Some(entry) = self.entries.get(draw.below(self.entries.len() * 2)) {
            export.arg(entry);
        }
        run(&mut export)?;
        named(&stream)?;
        run(git(place).args(["fast-import", "--quiet", "--force"]).stdin(open(&stream)?).stdout(Stdio::null()))?;
        fs::remove_file(&stream).map_err(|error| files::failed(&stream, &error))
    }
}

/// Gives the commits of an export, which were named by an id, the branch `main`.
fn named(stream: &Path) -> Outcome<()> {
    let bytes = fs::read(stream).map_err(|error| files::failed(stream, &error))?;
    fs::write(stream, renamed(&bytes)).map_err(|error| files::failed(stream, &error))
}

/// Replaces what follows `commit ` and `reset ` at the beginning of a line, outside of the data of the stream.
fn renamed(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stream.len());
    let mut rest = stream;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |place| place + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let text = String::from_utf8_lossy(line);
        if let Some(len) = text.strip_prefix("data ").and_then(|len| len.trim_end().parse::<usize>().ok()) {
            let (data, after) = rest.split_at(len.min(rest.len()));
            out.extend_from_slice(line);
            out.extend_from_slice(data);
            rest = after;
        } else if let Some(word) = ["commit ", "reset "].iter().find(|word| text.starts_with(**word)) {
            out.extend_from_slice(format!("{word}refs/heads/main\n").as_bytes());
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}

/// Changes bytes in the middle of the largest pack.
fn damage(place: &Path) -> Outcome<()> {
    let packs = files::entries(&place.join("objects").join("pack"))?;
    let Some(pack) = packs.iter().find(|path| path.extension().is_some_and(|name| name == "pack")) else {
        return Err(wrong(format!("{}: there is no pack to damage", place.display())));
    };
    let mut bytes = fs::read(pack).map_err(|error| files::failed(pack, &error))?;
    let middle = bytes.len() / 2;
    bytes.iter_mut().skip(middle).take(16).for_each(|byte| *byte ^= 0x55);
    fs::remove_file(pack).and_then(|()| fs::write(pack, bytes)).map_err(|error| files::failed(pack, &error))
}

fn open(path: &Path) -> Outcome<File> {
    File::open(path).map_err(|error| files::failed(path, &error))
}

/// Runs the command, whose streams are set.
fn run(command: &mut Command) -> Outcome<()> {
    let shown = process::shown(command);
    let spoiled = |error: &dyn std::fmt::Display| wrong(format!("{shown}: {error}"));
    let child = command.stderr(Stdio::piped()).spawn().map_err(|error| spoiled(&error))?;
    let output = child.wait_with_output().map_err(|error| spoiled(&error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(spoiled(&String::from_utf8_lossy(&output.stderr).trim_end())),
    }
}

/// The name of the repository, with that of the folder above where it says nothing.
fn name_of(path: &Path) -> String {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let says_something = |name: &&String| !["repo", ".git", "git"].contains(&name.as_str());
    let name = names.iter().rev().find(says_something).map_or("source", String::as_str);
    name.trim_end_matches(".git").replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_where_a_history_is_from() {
        for (path, name) in
            [("/m/sharkdp+fd/repo", "sharkdp-fd"), ("/a/linux.git", "linux"), ("/a/b/.git", "b"), ("/", "-")]
        {
            assert_eq!(name_of(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn branches_of_a_stream_are_renamed_but_not_its_data() {
        let stream = b"reset abc\ncommit abc\nmark :1\ndata 11\ncommit abc\ncommit abc\n";
        let expected =
            b"reset refs/heads/main\ncommit refs/heads/main\nmark :1\ndata 11\ncommit abc\ncommit refs/heads/main\n";
        assert_eq!(renamed(stream), expected);
    }

    #[test]
    fn every_kind_is_made() {
        let scratch = tempfile::tempdir().unwrap();
        let forge = scratch.path().join("forge");
        fs::create_dir(&forge).unwrap();
        let source = scratch.path().join("source");
        process::output(Command::new("git").args(["init", "-q"]).arg(&source)).unwrap();
        for number in 0..5 {
            fs::write(source.join("file"), format!("{number}\n").repeat(500)).unwrap();
            process::output(git(&source).args(["add", "file"])).unwrap();
            let who = ["-c", "user.name=A", "-c", "user.email=a@b"];
            process::output(git(&source).args(who).args(["commit", "-q", "-m", "change"])).unwrap();
        }
        let names = repositories(&forge, &[source], KINDS.len(), &mut Draw::new(1)).unwrap();
        assert_eq!(names.len(), KINDS.len());
        for name in &names {
            let has_commits =
                process::output(git(&forge.join(name)).args(["rev-list", "--all"])).is_ok_and(|list| !list.is_empty());
            let may_lack = name.starts_with("empty") || name.starts_with("damaged");
            assert!(has_commits || may_lack, "{name}");
        }
        assert!(counts(&names).contains("1 damaged, 1 empty"), "{}", counts(&names));
        let again = Draw::new(1).below(1000);
        assert_eq!(again, Draw::new(1).below(1000));
    }
}
