//! The public repositories of the page of results: what no record says about them.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

/// A repository of the page of results. Unknown fields are errors: a misspelt field would not be heeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedRepository {
    /// Its public name, as in `sharkdp/fd`: words of letters, digits and `.-_` with slashes between. Records have the
    /// same.
    pub name: String,
    /// Where it is published.
    pub url: String,
    /// What it holds.
    pub kind: ContentKind,
    /// More about its content, in a few words.
    pub about: String,
    /// Whether codec specs were chosen on it, so that it says nothing about how good they are elsewhere. Omitted from
    /// JSON if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen_on: bool,
}

/// What a repository mostly holds, as the person says who lists it. Only [`ContentKind::Compressed`] follows from
/// records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// A program or library.
    Source,
    /// A book, a manual, lists and the like.
    Documents,
    /// Files that were compressed before, such as pictures and archives, take most of the bytes: whole files keep 80 %
    /// of theirs or more.
    Compressed,
    /// Pictures that are text, such as icons in SVG.
    Drawings,
    /// The same text in many languages.
    Translations,
    /// Many packages in one repository.
    Monorepo,
    /// A Git repository that was converted to Mercurial.
    ConvertedMercurial,
}

impl ContentKind {
    /// All kinds, in the order of tables.
    pub const ALL: [ContentKind; 7] = [
        ContentKind::Source,
        ContentKind::Documents,
        ContentKind::Compressed,
        ContentKind::Drawings,
        ContentKind::Translations,
        ContentKind::Monorepo,
        ContentKind::ConvertedMercurial,
    ];
}

/// A list of repositories cannot be read. Lines are counted from 1.
#[derive(Debug)]
pub struct ListError {
    /// The line.
    pub line: usize,
    /// Why not.
    pub why: String,
}

impl std::error::Error for ListError {}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Reads a list of repositories: one JSON object a line. Blank lines are skipped. Names are unique.
///
/// # Errors
/// A line is no [`ListedRepository`], or has the name of an earlier one.
pub fn read_list(text: &str) -> Result<Vec<ListedRepository>, ListError> {
    let mut names = BTreeSet::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line): (usize, &str)| {
        let failed = |why| ListError { line: at + 1, why };
        let listed: ListedRepository = serde_json::from_str(line).map_err(|error| failed(error.to_string()))?;
        if !is_path_of_words(&listed.name) {
            return Err(failed(format!("{:?} is no name such as sharkdp/fd", listed.name)));
        }
        if !listed.url.strip_prefix("https://").is_some_and(is_path_of_words) {
            return Err(failed(format!("{:?} is no address such as https://github.com/sharkdp/fd", listed.url)));
        }
        if !names.insert(listed.name.clone()) {
            return Err(failed(format!("{} is listed twice", listed.name)));
        }
        Ok(listed)
    };
    lines.map(read).collect()
}

/// Whether `text` can stand in a link and in the path of a page.
fn is_path_of_words(text: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    text.split('/').all(|word| !word.is_empty() && !word.starts_with('.') && word.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FD: &str = r#"{"name":"sharkdp/fd","url":"https://github.com/sharkdp/fd","kind":"source","about":"Rust"}"#;

    #[test]
    fn list_names_each_repository_once() {
        let listed = read_list(&format!("\n{FD}\n")).unwrap();
        assert_eq!((listed.len(), listed[0].kind, listed[0].chosen_on), (1, ContentKind::Source, false));
        assert_eq!(serde_json::to_string(&listed[0]).unwrap(), FD);
        let twice = read_list(&format!("{FD}\n{FD}\n")).unwrap_err().to_string();
        assert_eq!(twice, "line 2: sharkdp/fd is listed twice");
        for (wrong, what) in [("sharkdp/fd\"", "sharkdp/../fd\""), ("https://", "javascript:")] {
            let error = read_list(&FD.replacen(wrong, what, 1)).unwrap_err().to_string();
            assert!(error.starts_with("line 1: ") && error.contains(" is no "), "{error}");
        }
        let misspelt = FD.replace("about", "abuot");
        let error = read_list(&misspelt).unwrap_err().to_string();
        assert!(error.starts_with("line 1: unknown field `abuot`"), "{error}");
    }
}
