//! The parts of the documents that a test can check: examples, code spans, links and headings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The command that takes the lines of a console block that begin with `--codec`.
const TAKES_CODECS: &str = "repackbench bench ripgrep --workload sizes";

/// Folders whose Markdown files are documents. A star stands for any folder.
const FOLDERS: [&str; 3] = ["", "docs", "integrations/*"];

/// A Markdown file.
pub(super) struct Document {
    /// Its path in the checkout.
    pub(super) name: String,
    text: String,
}

/// A command in a document, and the output that it shows.
#[derive(Debug)]
pub(super) struct Example {
    /// The document and the line.
    pub(super) place: String,
    pub(super) command: String,
    pub(super) shown: Vec<String>,
}

/// The root of the checkout.
pub(super) fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

impl Document {
    /// All documents, sorted by name.
    pub(super) fn all() -> Vec<Document> {
        let root = checkout();
        let folders = FOLDERS.iter().flat_map(|folder| match folder.strip_suffix("/*") {
            Some(parent) => folders_in(&root.join(parent)),
            None => vec![root.join(folder)],
        });
        let files = folders.flat_map(|folder| entries(&folder));
        let markdown = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let mut documents: Vec<Document> = markdown.map(|path| Document::read(&root, &path)).collect();
        documents.sort_by(|one, other| one.name.cmp(&other.name));
        documents
    }

    /// The documents in a folder and below it.
    pub(super) fn below(folder: &str) -> Vec<Document> {
        let root = checkout();
        let mut folders = vec![root.join(folder)];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            folders.extend(folders_in(&folder));
            let files = entries(&folder).into_iter().filter(|path| path.extension().is_some_and(|of| of == "md"));
            found.extend(files.map(|path| Document::read(&root, &path)));
        }
        found
    }

    /// The places of lines with more characters, except in tables and blocks of code.
    pub(super) fn lines_wider_than(&self, columns: usize) -> Vec<String> {
        let is_exempt = |event: &Event<'_>| matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::Table(_)));
        let parser = Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter();
        let exempt: Vec<_> = parser.filter(|(event, _)| is_exempt(event)).map(|(_, range)| range).collect();
        let mut at = 0;
        let mut found = Vec::new();
        for (number, line) in self.text.split_inclusive('\n').enumerate() {
            let width = line.trim_end().chars().count();
            if width > columns && !exempt.iter().any(|range| range.contains(&at)) {
                found.push(format!("{}:{}: {width}", self.name, number + 1));
            }
            at += line.len();
        }
        found
    }

    /// The document of this name.
    #[track_caller]
    pub(super) fn named(name: &str) -> Document {
        Document::read(&checkout(), &checkout().join(name))
    }

    fn read(root: &Path, path: &Path) -> Document {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(root).expect("a file of the checkout").to_string_lossy().into_owned();
        Document { name, text }
    }

    /// Every command in the console blocks. Fails the test if a block with a command is marked as something else, or a
    /// console block shows output without a command: the block would be skipped.
    #[track_caller]
    pub(super) fn examples(&self) -> Vec<Example> {
        let mut events = Parser::new(&self.text).into_offset_iter();
        let mut found = Vec::new();
        while let Some((event, range)) = events.next() {
            let Event::Start(Tag::CodeBlock(kind)) = event else { continue };
            let body: String = events.by_ref().map_while(|(event, _)| text_in_block(&event)).collect();
            let line = self.line(range.start);
            match kind {
                CodeBlockKind::Fenced(language) if &*language == "console" => {
                    found.extend(examples_in(&body, &|at| format!("{}:{}", self.name, line + 1 + at)));
                }
                CodeBlockKind::Fenced(language) if language.is_empty() || &*language == "text" => {
                    let command = body.lines().find(|line| line.starts_with("$ "));
                    assert_eq!(command, None, "{}:{line}: a block with a command is not marked as console", self.name);
                }
                other => panic!("{}:{line}: no test knows what to do with {other:?}", self.name),
            }
        }
        found
    }

    /// The lines of its text blocks, each with its place.
    pub(super) fn text_lines(&self) -> Vec<(String, String)> {
        let mut events = Parser::new(&self.text).into_offset_iter();
        let mut found = Vec::new();
        while let Some((event, range)) = events.next() {
            let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) = event else { continue };
            let body: String = events.by_ref().map_while(|(event, _)| text_in_block(&event)).collect();
            if &*language == "text" {
                let first = self.line(range.start) + 1;
                found.extend(
                    body.lines()
                        .enumerate()
                        .map(|(at, line)| (format!("{}:{}", self.name, first + at), line.to_owned())),
                );
            }
        }
        found
    }

    /// Every code span, with its place.
    pub(super) fn code_spans(&self) -> Vec<(String, String)> {
        let spans = Parser::new(&self.text).into_offset_iter().filter_map(|(event, range)| match event {
            Event::Code(code) => Some((format!("{}:{}", self.name, self.line(range.start)), code.into_string())),
            _ => None,
        });
        spans.collect()
    }

    /// The targets of links and pictures, with their places.
    pub(super) fn links(&self) -> Vec<(String, String)> {
        let links = Parser::new(&self.text).into_offset_iter().filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((format!("{}:{}", self.name, self.line(range.start)), dest_url.into_string()))
            }
            _ => None,
        });
        links.collect()
    }

    /// The anchors that GitHub gives to its headings, and those that it sets itself: `<a id="NAME"></a>`.
    pub(super) fn anchors(&self) -> BTreeSet<String> {
        let mut events = Parser::new(&self.text);
        let mut anchors = BTreeSet::new();
        while let Some(event) = events.next() {
            if let Event::InlineHtml(html) | Event::Html(html) = &event {
                anchors.extend(anchor_set_by(html));
            }
            if matches!(event, Event::Start(Tag::Heading { .. })) {
                let inside = events.by_ref().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
                let words = inside.map(|event| match event {
                    Event::Text(text) | Event::Code(text) => text.into_string(),
                    _ => String::new(),
                });
                anchors.insert(anchor(&words.collect::<String>()));
            }
        }
        anchors
    }

    /// The terms at the beginning of its list items, in bold, each with the anchor before it, if there is one.
    pub(super) fn terms(&self) -> Vec<(Option<String>, String)> {
        let mut events = Parser::new(&self.text);
        let mut terms = Vec::new();
        while let Some(event) = events.next() {
            if !matches!(event, Event::Start(Tag::Item)) {
                continue;
            }
            let mut anchor = None;
            for event in events.by_ref().take_while(|event| !matches!(event, Event::End(TagEnd::Item))) {
                match event {
                    Event::InlineHtml(html) if anchor.is_none() => anchor = anchor_set_by(&html),
                    Event::Text(term) => {
                        terms.push((anchor, term.into_string()));
                        break;
                    }
                    _ => {}
                }
            }
        }
        terms
    }

    /// The number of the line with this byte.
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// The examples under `Examples:` in the help of a subcommand.
pub(super) fn examples_in_help(subcommand: &str, help: &str) -> Vec<Example> {
    let listed = help.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| !line.is_empty());
    let commands = listed.map(|line| {
        // Two or more spaces separate the command from its description.
        let command = line.trim().split("  ").next().unwrap_or_default();
        Example { place: format!("repackbench {subcommand} --help"), command: command.to_owned(), shown: Vec::new() }
    });
    commands.collect()
}

fn text_in_block(event: &Event) -> Option<String> {
    match event {
        Event::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The commands of a console block, each with the output it shows.
#[track_caller]
fn examples_in(body: &str, place: &dyn Fn(usize) -> String) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut lines = body.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut command = match line.strip_prefix("$ ") {
            Some(command) => command.to_owned(),
            None if line.starts_with("--codec ") => format!("{TAKES_CODECS} {line}"),
            None => {
                let last = found.last_mut();
                let last = last.unwrap_or_else(|| panic!("{}: output of no command: mark it as text", place(number)));
                last.shown.push(line.to_owned());
                continue;
            }
        };
        while command.ends_with('\\') {
            let (_, rest) = lines.next().unwrap_or_else(|| panic!("{}: the command goes on nowhere", place(number)));
            command.push('\n');
            command.push_str(rest);
        }
        found.push(Example { place: place(number), command, shown: Vec::new() });
    }
    found
}

/// The anchor of a tag such as `<a id="NAME">`.
fn anchor_set_by(tag: &str) -> Option<String> {
    Some(tag.strip_prefix("<a id=\"")?.strip_suffix("\">")?.to_owned())
}

fn anchor(heading: &str) -> String {
    let letters = heading.to_lowercase().replace(' ', "-");
    letters.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn folders_in(parent: &Path) -> Vec<PathBuf> {
    entries(parent).into_iter().filter(|path| path.is_dir()).collect()
}
