//! `repackbench results-page`: makes the page of results from committed records.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use repackbench_analysis::results_page;
use repackbench_records::{
    ListedRepository, ResultLine, check_public, read_list, read_numbered_results, repository_of,
};
use repackbench_report::{RESULTS_MADE, results_file, sections};
use walkdir::WalkDir;

use crate::{
    failure::{FAILED, Failure},
    output::{atomic_file::AtomicFile, record_file},
};

/// The list of repositories in the folder of results.
const LIST: &str = "repositories.jsonl";

/// The folder of records in it.
const RECORDS: &str = "records";

/// The folder of pages in it that have one for each repository. Nothing else is in it.
const PAGES: &str = "repositories";

/// How many pages that differ are named.
const NAMED: usize = 3;

/// Make the page of results from the records and the list of repositories in a folder.
#[derive(Debug, Parser)]
#[command(name = "results-page", hide = true)]
pub(crate) struct ResultsPageArguments {
    /// The folder: it has repositories.jsonl and records/*.jsonl, and gets the pages.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Write nothing, and fail if the pages are not those that the records give.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &ResultsPageArguments) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    let list = folder.join(LIST);
    let listed = fs::read_to_string(&list).map_err(|error| failed(&list, &error))?;
    let listed = read_list(&listed).map_err(|error| failed(&list, &error))?;
    let lines = records(&folder.join(RECORDS), &listed)?;
    let files = sections::results_page(&results_page(&listed, lines));
    let files: BTreeMap<PathBuf, String> =
        files.iter().map(|file| (folder.join(&file.path), results_file(file))).collect();
    let stale = stale_pages(&folder.join(PAGES), &files)?;
    if arguments.check { check(&files, &stale) } else { write(&files, &stale) }
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(FAILED, format!("{}: {why}", path.display()))
}

/// The lines of all files of records, in the order of their names. Each can be published, and is about a listed repository.
fn records(folder: &Path, listed: &[ListedRepository]) -> Result<Vec<ResultLine>, Failure> {
    let mut paths = Vec::new();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                paths.push(entry.map_err(|error| failed(folder, &error))?.path());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(folder, &error)),
    }
    let is_named = |path: &PathBuf, end: &str| path.to_string_lossy().ends_with(end);
    paths.retain(|path| is_named(path, ".jsonl") || is_named(path, ".jsonl.gz"));
    paths.sort();
    let names: BTreeSet<&str> = listed.iter().map(|listed| listed.name.as_str()).collect();
    let (mut lines, mut estimated) = (Vec::new(), BTreeMap::new());
    for path in &paths {
        for line in read_numbered_results(record_file::open(path)?) {
            let (number, line) = line.map_err(|error| failed(path, &error))?;
            check_line(&line, &names, &mut estimated, &format!("{}: line {number}", path.display()))?;
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Refuses a line that cannot be published, that is about a repository without an entry in the list, or that is a second
/// estimate of a repository. `estimated` has the places of earlier ones.
fn check_line(
    line: &ResultLine,
    names: &BTreeSet<&str>,
    estimated: &mut BTreeMap<String, String>,
    place: &str,
) -> Result<(), Failure> {
    let refused = |why: &dyn std::fmt::Display| Failure::new(FAILED, format!("{place}: {why}"));
    check_public(line).map_err(|error| refused(&error))?;
    let Some(name) = repository_of(line) else { return Ok(()) };
    if !names.contains(name) {
        let hint = format!("{LIST} has a line for each repository: its name, url, kind and about");
        return Err(refused(&format!("repository.name: {name} is not in {LIST}")).with_hint(hint));
    }
    let earlier = match line {
        ResultLine::Estimate(_) => estimated.insert(name.to_owned(), place.to_owned()),
        _ => None,
    };
    match earlier {
        Some(earlier) => Err(refused(&format!("repository.name: {name} has an estimate already, in {earlier}"))
            .with_hint("remove the lines of one of them: a repository counts once")),
        None => Ok(()),
    }
}

/// Pages of repositories that have no records any more.
fn stale_pages(folder: &Path, files: &BTreeMap<PathBuf, String>) -> Result<Vec<PathBuf>, Failure> {
    let mut stale = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        match entry {
            // Other files are somebody's.
            Ok(entry) if entry.file_type().is_file() && !files.contains_key(entry.path()) && is_made(entry.path()) => {
                stale.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
            Err(error) => return Err(failed(folder, &error)),
        }
    }
    Ok(stale)
}

/// Whether the file at `path` says that it was made here.
fn is_made(path: &Path) -> bool {
    let mut start = vec![0; RESULTS_MADE.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == RESULTS_MADE.as_bytes()
}

fn check(files: &BTreeMap<PathBuf, String>, stale: &[PathBuf]) -> Result<ExitCode, Failure> {
    let differs = |(path, text): &(&PathBuf, &String)| fs::read(path).map_or(true, |found| found != text.as_bytes());
    let wrong: Vec<&PathBuf> = files.iter().filter(differs).map(|(path, _)| path).chain(stale).collect();
    if wrong.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let named: Vec<String> = wrong.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = if wrong.len() > NAMED { format!(" and {} more", wrong.len() - NAMED) } else { String::new() };
    let why = format!("not what the records give: {}{more}", named.join(", "));
    Err(Failure::new(FAILED, why).with_hint("`cargo xtask results` makes the pages"))
}

fn write(files: &BTreeMap<PathBuf, String>, stale: &[PathBuf]) -> Result<ExitCode, Failure> {
    for (path, text) in files {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        }
        AtomicFile::create(path)?.write(text)?;
    }
    for path in stale {
        fs::remove_file(path).map_err(|error| failed(path, &error))?;
    }
    Ok(ExitCode::SUCCESS)
}
