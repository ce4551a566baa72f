//! The sources of the book: the documents, with links as mdBook needs them, and the help of every command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::files::{entries, failed, make_folder, read_text, remove_folder, with_extension};
use crate::process::{self, Failure, Outcome};

/// Documents outside [`FOLDER`] that are chapters.
const CHAPTERS: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "integrations/hg/README.md",
    "integrations/python/README.md",
    "integrations/ray/README.md",
];

/// The folder of the documents.
const FOLDER: &str = "docs";

/// The page that the pages of single repositories come below, in the list of chapters, and their folder.
const REPOSITORIES: (&str, &str) = ("  - [All repositories together]", "docs/results/repositories");

/// The page that ends in the help of all commands.
const COMMANDS: &str = "docs/commands.md";

/// The folder of the book for other files that the documents link to.
const FILES: &str = "files";

/// The list of chapters.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Makes the sources of the book in `book`, from the documents of the checkout at `root`. `program` prints its help.
pub(super) fn stage(root: &Path, book: &Path, program: &Path) -> Outcome<()> {
    remove_folder(book)?;
    let chapters = chapters(root)?;
    let mut site = Site { root, chapters: chapters.clone(), files: BTreeSet::new() };
    for chapter in &chapters {
        let mut text = site.relinked(chapter, &read_text(&root.join(chapter))?)?;
        match chapter.to_str() {
            Some(SUMMARY) => text = with_repositories(root, &text)?,
            Some(COMMANDS) => text.push_str(&help_of_all(program)?),
            _ => {}
        }
        write(&book.join("src").join(place(chapter)), &text)?;
    }
    for picture in entries(&root.join(FOLDER).join("pictures"))? {
        let name = picture.file_name().unwrap_or_default();
        write(&book.join("src/pictures").join(name), &read_text(&picture)?)?;
    }
    for file in &site.files {
        write(&book.join("src").join(copied(file)), &read_text(&root.join(file))?)?;
    }
    write(&book.join("book.toml"), &read_text(&root.join(FOLDER).join("book.toml"))?)
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    make_folder(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| failed(path, &error))
}

/// All documents that become pages, by their paths in the checkout.
pub(crate) fn chapters(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = CHAPTERS.map(PathBuf::from).to_vec();
    let below = with_extension(&root.join(FOLDER), "md")?;
    found.extend(below.iter().map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()));
    found.sort();
    Ok(found)
}

/// The place of a chapter or picture in the book. mdBook makes an index page of README.md, and leaves links to it
/// alone.
fn place(chapter: &Path) -> PathBuf {
    let place = chapter.strip_prefix(FOLDER).unwrap_or(chapter);
    if place.ends_with("README.md") { place.with_file_name("index.md") } else { place.to_owned() }
}

/// The place of the copy of another file. mdBook takes every link with .md for a link to a chapter.
fn copied(file: &Path) -> PathBuf {
    let is_markdown = file.extension().is_some_and(|extension| extension == "md");
    Path::new(FILES).join(if is_markdown { file.with_extension("txt") } else { file.to_owned() })
}

struct Site<'a> {
    root: &'a Path,
    chapters: Vec<PathBuf>,
    /// Other files that chapters link to, by their paths in the checkout.
    files: BTreeSet<PathBuf>,
}

impl Site<'_> {
    /// `text` of `chapter` with links to chapters and pictures as they are in the book, and links to other files of the
    /// checkout leading to copies of them.
    fn relinked(&mut self, chapter: &Path, text: &str) -> Outcome<String> {
        let mut relinked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("](") {
            relinked.push_str(before);
            relinked.push_str("](");
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            relinked.push_str(&self.link(chapter, target)?);
            relinked.push(')');
            rest = after;
        }
        relinked.push_str(rest);
        Ok(relinked)
    }

    fn link(&mut self, chapter: &Path, target: &str) -> Outcome<String> {
        if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
            return Ok(target.to_owned());
        }
        let (path, anchor) =
            target.split_once('#').map_or((target, String::new()), |(path, anchor)| (path, format!("#{anchor}")));
        let wanted = normalized(&chapter.parent().unwrap_or(chapter).join(path));
        if !self.root.join(&wanted).is_file() {
            return Err(Failure(format!("{}: {target}: no such file", chapter.display())));
        }
        let is_in_book = self.chapters.contains(&wanted) || wanted.starts_with(Path::new(FOLDER).join("pictures"));
        let linked = if is_in_book { place(&wanted) } else { copied(&wanted) };
        if !is_in_book {
            self.files.insert(wanted);
        }
        let up = place(chapter).components().count() - 1;
        let above: PathBuf = std::iter::repeat_n("..", up).collect();
        Ok(format!("{}{anchor}", above.join(linked).display()))
    }
}

/// The path without `.` and `..`.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            other => normalized.push(other),
        }
    }
    normalized
}

/// The list of chapters with the pages of single repositories.
fn with_repositories(root: &Path, summary: &str) -> Outcome<String> {
    let (above, folder) = REPOSITORIES;
    let mut lines = String::new();
    for line in summary.lines() {
        lines.push_str(line);
        lines.push('\n');
        if line.starts_with(above) {
            for page in with_extension(&root.join(folder), "md")? {
                let path = page.strip_prefix(root).unwrap_or(&page);
                let name = page.strip_prefix(root.join(folder)).unwrap_or(&page).with_extension("");
                lines.push_str(&format!("    - [{}]({})\n", name.display(), place(path).display()));
            }
        }
    }
    Ok(lines)
}

/// The help of every command, as `program` prints it.
fn help_of_all(program: &Path) -> Outcome<String> {
    let mut text = String::from("\n## All options\n\nWhat `repackbench COMMAND --help` prints.\n");
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let help = |option| process::output(Command::new(program).args(&words).arg(option));
        if !words.is_empty() {
            let page = help("--help")?;
            text.push_str(&format!("\n### `repackbench {}`\n\n```text\n{}\n```\n", words.join(" "), page.trim_end()));
        }
        // Options and continued descriptions start with other characters.
        let listed = help("-h")?;
        let listed = listed.lines().filter_map(|line| line.strip_prefix("  "));
        let names = listed.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        left.extend(names.map(|name| [words.as_slice(), &[name.to_owned()]].concat()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_chapters_of_the_book_and_to_copies_of_other_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for path in [
            "README.md",
            "docs/method.md",
            "docs/results/README.md",
            "docs/pictures/a.svg",
            "data/list.json",
            "data/a.md",
        ] {
            write(&root.join(path), "text").expect("a file");
        }
        let mut site = Site { root, chapters: chapters(root).expect("chapters"), files: BTreeSet::new() };
        let mut relinked = |chapter: &str, text: &str| site.relinked(Path::new(chapter), text);
        let text =
            relinked("README.md", "[a](docs/method.md#time), ![b](docs/pictures/a.svg) and [c](#d)").expect("links");
        assert_eq!(text, "[a](method.md#time), ![b](pictures/a.svg) and [c](#d)");
        let text = relinked("docs/results/README.md", "[a](../method.md) [b](../../data/list.json)").expect("links");
        assert_eq!(text, "[a](../method.md) [b](../files/data/list.json)");
        assert_eq!(relinked("README.md", "[a](data/a.md)").expect("links"), "[a](files/data/a.txt)");
        assert_eq!(relinked("docs/method.md", "[a](results/README.md)").expect("links"), "[a](results/index.md)");
        assert!(relinked("docs/method.md", "[a](none.md)").is_err());
        assert_eq!(site.files, BTreeSet::from(["data/a.md", "data/list.json"].map(PathBuf::from)));
    }
}
