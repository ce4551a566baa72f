//! `cargo xtask corpus`: fetches the repositories that figures are measured on, and checks that they have not changed.
//!
//! The manifest names them before anything is tuned on them. [`manifest`] describes its contents, docs/method.md its
//! purpose.

mod arguments;
mod fetch;
mod hg;
mod manifest;
mod sizes;

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::files;
use crate::process::{self, Failure, Outcome, cargo};
use arguments::Arguments;
use manifest::{Entry, Manifest, Measured};
use sizes::Check;

/// The exit code if nothing could be compared: EX_TEMPFAIL, try again.
const TEMPORARY_FAILURE: u8 = 75;

/// Why an entry could not be compared, or did not match.
#[derive(Debug)]
enum Trouble {
    /// The repository could not be fetched. Holds git's message.
    NotFetched(String),
    /// The Git repository is there, but not the hg to convert it.
    NotConverted(String),
    /// The repository is not as the manifest says.
    Differs(Vec<String>),
    /// An operation failed that should not fail.
    Failed(String),
}

impl From<Failure> for Trouble {
    fn from(Failure(message): Failure) -> Self {
        Trouble::Failed(message)
    }
}

/// Runs the chore. Prints a line for each repository on stdout.
pub(crate) fn run(words: &[OsString]) -> Outcome<ExitCode> {
    let arguments = arguments::parse(words)?;
    let manifest = Manifest::read(&arguments.manifest)?;
    arguments.check_names(&manifest)?;
    if arguments.list {
        manifest.repositories.iter().filter(|entry| arguments.wants(entry)).for_each(list);
        return Ok(ExitCode::SUCCESS);
    }
    files::make_folder(&arguments.out)?;
    let _lock = lock(&arguments.out)?;
    let program = if arguments.check { Some(program(&arguments)?) } else { None };
    let (mut looked_at, mut sound) = (0, true);
    for entry in manifest.repositories.iter().filter(|entry| arguments.wants(entry)) {
        let found = measure(entry, &manifest.specs, &arguments, program.as_deref());
        looked_at += usize::from(!matches!(found, Err(Trouble::NotFetched(_) | Trouble::NotConverted(_))));
        let (line, is_sound) = match found {
            // Written at once, because the next repository may take an hour and may be interrupted.
            Ok(found) if arguments.update => update(entry, found, &arguments.manifest)?,
            found => judge(entry, found),
        };
        sound &= is_sound;
        println!("{}: {line}", entry.name);
    }
    match (looked_at, sound) {
        (0, _) => {
            eprintln!("xtask: nothing could be compared; see the lines above");
            Ok(ExitCode::from(TEMPORARY_FAILURE))
        }
        (_, true) => Ok(ExitCode::SUCCESS),
        (_, false) => Err(Failure("some repositories differ from the manifest or failed".into())),
    }
}

/// Prints what the manifest says about an entry.
fn list(entry: &Entry) {
    let objects = entry.objects.map_or("unknown".to_owned(), |objects| objects.to_string());
    let (kind, role) = (entry.kind.name(), entry.role.name());
    let (name, commit, url) = (&entry.name, &entry.commit, &entry.url);
    println!("{name:16} {kind:19} {role:9} {objects:>9} objects  {commit}  {url}");
}

/// The program that makes variants: the given one, or this checkout's.
fn program(arguments: &Arguments) -> Outcome<PathBuf> {
    if let Some(program) = &arguments.program {
        return std::path::absolute(program).map_err(|error| files::failed(program, &error));
    }
    process::run(cargo().args(["build", "--release", "--locked", "--package", "repackbench-cli"]))?;
    Ok(crate::target_dir().join("release").join("repackbench"))
}

/// Fetches an entry, converts it if it is a Mercurial one, and measures its variants if a program is given.
fn measure(
    entry: &Entry,
    specs: &[String],
    arguments: &Arguments,
    program: Option<&Path>,
) -> Result<Measured, Trouble> {
    let folder = arguments.out.join(&entry.name);
    // The repository to measure has the entry's name. The Git repository that it is converted from is beside it.
    let git = if entry.conversion.is_some() { folder.with_extension("git") } else { folder.clone() };
    let objects = fetch::fetch(entry, arguments.source(entry), &git)?;
    let converted = match &entry.conversion {
        Some(conversion) => Some(hg::convert(entry, conversion, &git, &folder)?),
        None => None,
    };
    let sizes = match program {
        Some(program) => {
            let check = Check { program, specs, objects: converted.is_none().then_some(objects) };
            Some(check.measure(&entry.name, &folder, &folder.with_extension("check"))?)
        }
        None => None,
    };
    Ok(Measured { objects, converted, sizes })
}

/// Waits until no other call uses the folder `out`, and locks it as long as the file is open.
fn lock(out: &Path) -> Outcome<File> {
    let path = out.join("lock");
    let failed = |error: io::Error| files::failed(&path, &error);
    let lock = File::create(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another `cargo xtask corpus` in {}", out.display());
            lock.lock().map_err(failed)?;
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    Ok(lock)
}

/// Writes the figures of an entry into the current manifest, which may have been edited since it was read. Returns the
/// line to print, and whether the figures were written.
fn update(entry: &Entry, found: Measured, path: &Path) -> Outcome<(String, bool)> {
    let mut manifest = Manifest::read(path)?;
    let Some(now) = manifest.repositories.iter_mut().find(|now| now.is_same_repository(entry)) else {
        return Ok((
            "not updated: the manifest was edited and now has another commit, another hg or no such entry".to_owned(),
            false,
        ));
    };
    let (differences, comparable, objects) = (now.differences(&found), now.comparable(&found), found.objects);
    let dropped = if now.update(found) { "; old sizes were dropped; --check measures new ones" } else { "" };
    manifest.write(path)?;
    let before = match (differences.is_empty(), comparable) {
        (false, _) => differences.join("; "),
        (true, 0) => "there were no figures before".to_owned(),
        (true, _) => "no figure has changed".to_owned(),
    };
    Ok((format!("updated: {objects} objects; {before}{dropped}"), true))
}

/// The line to print about an entry, and whether the entry is as the manifest says or could not be compared.
fn judge(entry: &Entry, found: Result<Measured, Trouble>) -> (String, bool) {
    let found = match found {
        Ok(found) => found,
        Err(Trouble::NotFetched(why)) => return (format!("not fetched: {why}"), true),
        Err(Trouble::NotConverted(why)) => return (format!("fetched, but not converted: {why}"), true),
        Err(Trouble::Differs(how)) => return (format!("differs: {}", how.join("; ")), false),
        Err(Trouble::Failed(why)) => return (format!("failed: {why}"), false),
    };
    let (differences, comparable, objects) = (entry.differences(&found), entry.comparable(&found), found.objects);
    match (differences.is_empty(), comparable) {
        (false, _) => (format!("differs: {}", differences.join("; ")), false),
        (true, 0) => (format!("fetched: {objects} objects; the manifest has no figures to compare"), true),
        (true, _) => (format!("as expected: {objects} objects; figures compared: {comparable}"), true),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::manifest::{Kind, Role};
    use super::*;

    #[test]
    fn manifest_has_every_kind_and_canonical_text() {
        let path = arguments::default_manifest();
        let manifest = Manifest::read(&path).expect("the manifest");
        let count = |wanted: Kind| manifest.repositories.iter().filter(|entry| entry.kind == wanted).count();
        for kind in [
            Kind::Kernel,
            Kind::Git,
            Kind::ConvertedMercurial,
            Kind::ManyBinaries,
            Kind::ManyTranslations,
            Kind::SmallLibrary,
        ] {
            assert!(count(kind) > 0, "no {}", kind.name());
        }
        for role in [Role::ChosenOn, Role::HeldOut] {
            assert!(manifest.repositories.iter().any(|entry| entry.role == role), "none {}", role.name());
        }
        for entry in &manifest.repositories {
            let is_converted = entry.kind == Kind::ConvertedMercurial;
            assert_eq!(entry.conversion.is_some(), is_converted, "{}", entry.name);
            assert!(entry.url.starts_with("https://"), "{}", entry.name);
        }
        assert_eq!(manifest.text().expect("its text"), fs::read_to_string(path).expect("the file"));
    }
}
