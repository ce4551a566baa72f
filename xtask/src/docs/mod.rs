//! `cargo xtask docs`: makes the site from the documents with mdBook, and checks its links and the spelling.

mod links;
mod stage;

pub(crate) use stage::{chapters, normalized};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{PYTHON, PythonProgram};
use crate::process::{self, Failure, Outcome, cargo};
use crate::{files, target_dir, workspace_root};

/// The release of mdBook, which is compiled once.
const MDBOOK: &str = "0.5.4";

const TYPOS: PythonProgram =
    PythonProgram { package: "typos", program: "typos", release: "1.52.0", probe: &["--version"] };

/// Runs the chore; prints the path of the first page on stdout.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("docs takes no arguments".into()));
    }
    let folder = target_dir().join("docs");
    files::make_folder(&folder)?;
    let _lock = files::lock(&folder)?;
    check_spelling(&folder)?;
    let mdbook = mdbook(&folder.join("mdbook"))?;
    process::run(cargo().args(["build", "--locked", "--package", "repackbench-cli"]))?;
    let book = folder.join("book");
    stage::stage(workspace_root(), &book, &target_dir().join("debug/repackbench"))?;
    process::run(Command::new(mdbook).arg("build").arg(&book))?;
    let pages = book.join("book");
    links::check(&pages)?;
    println!("{}", pages.join("index.html").display());
    Ok(())
}

/// The path of mdBook: an installed one of this release, or one that is compiled into `folder`.
fn mdbook(folder: &Path) -> Outcome<PathBuf> {
    let own = folder.join("bin/mdbook");
    let is_right = |program: &Path| {
        process::output(Command::new(program).arg("--version")).is_ok_and(|text| text.contains(MDBOOK))
    };
    if let Some(found) = [PathBuf::from("mdbook"), own.clone()].into_iter().find(|program| is_right(program)) {
        return Ok(found);
    }
    let mut install = cargo();
    install.args(["install", "--quiet", "--locked", "--no-default-features", "--features", "search"]);
    process::run(install.args(["--version", MDBOOK, "mdbook", "--root"]).arg(folder))?;
    Ok(own)
}

/// Looks for misspelt words in the documents. `.typos.toml` has words that are right.
fn check_spelling(folder: &Path) -> Outcome<()> {
    let typos = TYPOS.find_or_make(Path::new(PYTHON), &folder.join("typos"))?;
    let mut command = Command::new(typos);
    command.current_dir(workspace_root()).args(["--config", ".typos.toml", "docs"]);
    let root = files::entries(workspace_root())?;
    process::run(command.args(root.iter().filter(|path| path.extension().is_some_and(|of| of == "md"))))
}
