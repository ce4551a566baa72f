//! One case: a file is damaged, the program runs, its answer is judged, and the file is put right again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::judge::{Verdict, is_as_stock_reads, judge};
use super::mutation::{MutationKind, mutate};
use super::reseal;
use super::subject::{self, Subject};
use crate::draw::Draw;
use crate::files;
use crate::process::{Failure, Outcome};
use crate::stock::child::{self, Ended, Limits};
use crate::stock::{Reading, Stock};

/// Every how many cases `size` and `estimate` read the damaged repository, too.
const SIZE_EVERY: u64 = 16;
const ESTIMATE_EVERY: u64 = 256;

/// What all cases of a target have in common.
#[derive(Debug)]
pub(super) struct Target {
    /// Its name: `source`, or a codec spec.
    pub(super) name: String,
    pub(super) is_source: bool,
    pub(super) subject: Subject,
    /// The undamaged source.
    pub(super) original: PathBuf,
    pub(super) program: PathBuf,
    pub(super) stock: Stock,
    /// The files of what `convert` makes of the undamaged subject.
    pub(super) converted: BTreeMap<PathBuf, Vec<u8>>,
    /// What stock git or hg reads there.
    pub(super) truth: Reading,
    pub(super) seed: u64,
}

/// The damage of a case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// What the table calls the file.
    pub(super) file: String,
    pub(super) kind: MutationKind,
    path: PathBuf,
    offset: usize,
    is_resealed: bool,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl fmt::Display for Damage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sealed = if self.is_resealed { ", with corrected checksums" } else { "" };
        write!(to, "{} at offset {} of {}{sealed}", self.kind, self.offset, self.path.display())
    }
}

/// The places in which a worker runs its cases.
#[derive(Debug)]
pub(super) struct Places {
    /// The copy of the subject whose files are damaged.
    pub(super) subject: PathBuf,
    /// An empty folder for output.
    out: PathBuf,
    /// The user's folders, for the cache.
    home: PathBuf,
}

impl Places {
    /// Makes a worker's folders in `folder`.
    pub(super) fn make(folder: &Path, subject: &Subject) -> Outcome<Self> {
        files::remove_folder(folder)?;
        let places = Places { subject: folder.join("subject"), out: folder.join("out"), home: folder.join("home") };
        [&places.out, &places.home].into_iter().try_for_each(|place| files::make_folder(place))?;
        subject.write_all(&places.subject)?;
        Ok(places)
    }

    /// What is in the folder for output, which is emptied.
    fn leftovers(&self) -> Outcome<Option<String>> {
        let Some(left) = files::entries(&self.out)?.first().cloned() else { return Ok(None) };
        files::remove_folder(&self.out)?;
        files::make_folder(&self.out)?;
        Ok(Some(format!("not removed: {}", left.file_name().unwrap_or_default().to_string_lossy())))
    }
}

/// `repackbench COMMAND` for small repositories, with its caches in `home`.
pub(super) fn repackbench(program: &Path, command: &str, home: &Path) -> Command {
    let mut run = child::limited(program, Limits::SMALL);
    run.env("XDG_CACHE_HOME", home).env("HOME", home).env("RUST_BACKTRACE", "0");
    run.args([command, "--quiet", "--threads", "1", "--memory", "256M"]);
    run
}

/// `repackbench convert` to what stock git and hg read.
pub(super) fn convert(program: &Path, repository: &Path, out: &Path, home: &Path) -> Command {
    let mut run = repackbench(program, "convert", home);
    run.args(["--check", "--codec", "zlib:6"]).arg(repository).arg("-o").arg(out);
    run
}

impl Target {
    /// The damage of a case: the same for the same seed and number.
    pub(super) fn damage(&self, number: u64) -> Damage {
        let draw = &mut Draw::of_job(self.seed, number);
        let weight = |kind: &String| subject::weight(kind);
        let mut drawn = draw.below(self.subject.kinds.keys().map(weight).sum());
        let mut kinds = self.subject.kinds.iter();
        let found = kinds.find(|(kind, _)| {
            let is_here = drawn < weight(kind);
            drawn = drawn.saturating_sub(weight(kind));
            is_here
        });
        let (file, paths) = found.map_or((String::new(), &[][..]), |(kind, paths)| (kind.clone(), paths.as_slice()));
        let path = paths.get(draw.below(paths.len())).cloned().unwrap_or_default();
        let content = self.subject.files.get(&path).map_or(&[][..], Vec::as_slice);
        let is_resealed = self.subject.vcs == subject::Vcs::Git && reseal::is_sealed(&path) && draw.below(2) == 0;
        // Damage to a checksum that is corrected afterwards is none.
        let checksum = if is_resealed { self.subject.hash.len() } else { 0 };
        let (content, checksum) = content.split_at(content.len().saturating_sub(checksum));
        let mut mutated = mutate(content, draw);
        mutated.content.extend(checksum);
        let files = if is_resealed {
            self.subject.resealed(&path, mutated.content)
        } else {
            vec![(path.clone(), mutated.content)]
        };
        Damage { file, kind: mutated.kind, path, offset: mutated.offset, is_resealed, files }
    }

    /// Runs a case. If `keep`, the damage stays.
    pub(super) fn run(&self, number: u64, places: &Places, keep: bool) -> Outcome<(Damage, Verdict)> {
        let damage = self.damage(number);
        Subject::damage(&places.subject, &damage.files)?;
        let mut verdict = self.judge(number, places)?;
        if let Some(left) = places.leftovers()? {
            verdict = worse(verdict, left);
        }
        if !subject::paths(&places.subject)?.iter().eq(self.subject.files.keys()) {
            verdict = worse(verdict, "files were added to the source, or removed from it".to_owned());
            files::remove_folder(&places.subject)?;
            self.subject.write_all(&places.subject)?;
        } else if !keep {
            self.subject.restore(&places.subject, &damage.files)?;
        }
        Ok((damage, verdict))
    }

    fn judge(&self, number: u64, places: &Places) -> Outcome<Verdict> {
        let out = places.out.join("converted");
        let converted = child::end_of(&mut convert(&self.program, &places.subject, &out, &places.home), Limits::SMALL)?;
        let mut compared = None;
        if !self.is_source {
            compared = Some(self.verify(&self.original, &places.subject, places)?);
        }
        let mut others = Vec::new();
        if number % SIZE_EVERY == 1 {
            let mut size = child::limited(&self.program, Limits::SMALL);
            size.env("XDG_CACHE_HOME", &places.home).arg("size").arg("--quiet").arg(&places.subject);
            others.push(child::end_of(&mut size, Limits::SMALL)?);
        }
        if number % ESTIMATE_EVERY == 2 {
            let mut estimate = repackbench(&self.program, "estimate", &places.home);
            estimate.args(["--as-found", "--time", "1s", "--codec", "zstd:3"]).arg(&places.subject);
            others.push(child::end_of(&mut estimate, Limits::SMALL)?);
        }
        let ended = [&converted].into_iter().chain(&compared).chain(&others);
        if let Some(why) = ended.filter_map(Ended::misbehaviour).next() {
            files::remove_folder(&out)?;
            return Ok(Verdict::Wrong(why));
        }
        let verdict = if converted.is_accepted() {
            self.judge_accepted(&out, compared.as_ref(), places)
        } else if converted.code() == Some(child::BAD_INPUT) {
            Ok(Verdict::Refused)
        } else {
            Ok(Verdict::Wrong(format!(
                "expected exit code {}, found 1: {}",
                child::BAD_INPUT,
                converted.stderr.trim_end()
            )))
        };
        // Only a refusal has to remove what it wrote.
        if converted.is_accepted() {
            files::remove_folder(&out)?;
        }
        verdict
    }

    /// Judges what was accepted. Byte for byte the same as of the undamaged subject, it needs no reading.
    fn judge_accepted(&self, out: &Path, compared: Option<&Ended>, places: &Places) -> Outcome<Verdict> {
        if self.is_source {
            let same = self.verify(&places.subject, out, places)?;
            if !same.is_accepted() {
                let said = format!("{}{}", String::from_utf8_lossy(&same.stdout), same.stderr);
                return Ok(Verdict::Wrong(format!("verify finds that what was written differs: {}", said.trim_end())));
            }
        }
        if subject::contents(out)? == self.converted {
            return Ok(Verdict::Harmless);
        }
        judge(self.stock.read(out)?, &self.truth, |read| match compared {
            None => Ok(is_as_stock_reads(read, self.stock.read(&places.subject)?)),
            Some(compared) if compared.is_accepted() => {
                Ok(Some("accepted, and verify says that it is the same".into()))
            }
            Some(_) => Ok(None),
        })
    }

    fn verify(&self, first: &Path, second: &Path, places: &Places) -> Outcome<Ended> {
        child::end_of(repackbench(&self.program, "verify", &places.home).arg(first).arg(second), Limits::SMALL)
    }
}

/// The verdict, unless something else is wrong.
fn worse(verdict: Verdict, why: String) -> Verdict {
    match verdict {
        Verdict::Wrong(other) => Verdict::Wrong(format!("{other}; {why}")),
        _ => Verdict::Wrong(why),
    }
}

/// Prints how to run a failed case again.
pub(super) fn report(target: &Target, repository: &OsStr, number: u64, damage: &Damage, why: &str) {
    eprintln!(
        "case {number} of {} of {}, seed {}: {damage}: {why}",
        target.name,
        repository.to_string_lossy(),
        target.seed
    );
}

/// What `convert` makes of the undamaged subject, and what stock reads there. It has to be what stock reads in
/// `original`.
pub(super) fn undamaged(
    program: &Path,
    stock: &Stock,
    [original, subject]: [&Path; 2],
    folder: &Path,
) -> Outcome<(BTreeMap<PathBuf, Vec<u8>>, Reading)> {
    let out = folder.join("undamaged");
    let ended = child::end_of(&mut convert(program, subject, &out, folder), Limits::SMALL)?;
    let failed = |why: String| Failure(format!("mutate: {}, undamaged: {why}", subject.display()));
    if !ended.is_accepted() {
        return Err(failed(ended.stderr.trim_end().to_owned()));
    }
    let (truth, read) = (stock.read(original)?.map_err(failed)?, stock.read(&out)?.map_err(failed)?);
    if read != truth {
        return Err(failed("stock reads something else in the converted repository than in the source".to_owned()));
    }
    let contents = subject::contents(&out)?;
    files::remove_folder(&out)?;
    Ok((contents, truth))
}
