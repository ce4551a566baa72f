//! The documents that are installed. Links between them work; links to files of the checkout that are not installed
//! become plain text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{copy, make_folder_of};
use crate::docs::{chapters, normalized};
use crate::files::{entries, failed, read_text};
use crate::process::Outcome;

/// Documents that are no chapters of the site.
const OTHERS: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "integrations/hg/LICENSE-GPL"];

/// The pictures that documents show.
const PICTURES: &str = "docs/pictures";

/// Fills `folder` with the documents and pictures of the checkout at `root`, at the paths that they have there.
pub(super) fn stage(root: &Path, folder: &Path) -> Outcome<()> {
    let chapters = chapters(root)?;
    let pictures = entries(&root.join(PICTURES))?;
    let pictures = pictures.iter().map(|picture| Path::new(PICTURES).join(picture.file_name().unwrap_or_default()));
    let copied: Vec<PathBuf> = OTHERS.map(PathBuf::from).into_iter().chain(pictures).collect();
    let staged: BTreeSet<&Path> = chapters.iter().chain(&copied).map(PathBuf::as_path).collect();
    for file in &copied {
        copy(&root.join(file), &folder.join(file))?;
    }
    for chapter in &chapters {
        let text = without_dead_links(chapter, &read_text(&root.join(chapter))?, &staged);
        let to = folder.join(chapter);
        make_folder_of(&to)?;
        fs::write(&to, text).map_err(|error| failed(&to, &error))?;
    }
    Ok(())
}

/// `text` of `document`, in which every link and picture whose file is not `staged` is its text alone.
fn without_dead_links(document: &Path, text: &str, staged: &BTreeSet<&Path>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        kept.push_str(before);
        let (target, after_link) = after.split_once(')').unwrap_or((after, ""));
        match opening(&kept) {
            Some(at) if !is_staged(document, target, staged) => {
                kept.remove(at);
                if kept.get(..at).is_some_and(|before| before.ends_with('!')) {
                    kept.remove(at - 1);
                }
                rest = after_link;
            }
            _ => {
                kept.push_str("](");
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// The place of the bracket that opens the link whose text `before` ends with.
fn opening(before: &str) -> Option<usize> {
    let mut open = 1;
    for (at, letter) in before.char_indices().rev() {
        match letter {
            ']' => open += 1,
            '[' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether a link of `document` leads to a staged file, to a place in the document itself, or to another site.
fn is_staged(document: &Path, target: &str, staged: &BTreeSet<&Path>) -> bool {
    let (path, _) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    staged.contains(normalized(&document.parent().unwrap_or(document).join(path)).as_path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::with_extension;
    use crate::workspace_root;

    #[test]
    fn links_to_files_that_are_not_installed_become_text() {
        let staged = BTreeSet::from(["README.md", "docs/method.md", "docs/pictures/a.svg"].map(Path::new));
        let of = |document: &str, text: &str| without_dead_links(Path::new(document), text, &staged);
        let kept = "[a](docs/method.md#time), ![b](docs/pictures/a.svg), [c](#d), [e](https://none/x.json)";
        assert_eq!(of("README.md", kept), kept);
        assert_eq!(of("docs/method.md", "[A manifest](../xtask/data/corpus.json) names"), "A manifest names");
        assert_eq!(
            of("docs/method.md", "0.9 [0.8, 1] in [a\nb [c]](x.jsonl), ![p](no.svg) and [r](../README.md)"),
            "0.9 [0.8, 1] in a\nb [c], p and [r](../README.md)"
        );
    }

    #[test]
    fn no_link_of_the_installed_documents_is_dead() {
        let folder = tempfile::tempdir().expect("a folder");
        stage(workspace_root(), folder.path()).expect("documents");
        let documents = with_extension(folder.path(), "md").expect("documents");
        let mut checked = 0;
        for document in &documents {
            let text = read_text(document).expect("a document");
            for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
                let (path, _) = target.split_once('#').unwrap_or((target, ""));
                if !path.is_empty() && !target.contains("://") {
                    let linked = document.parent().expect("its folder").join(path);
                    assert!(linked.is_file(), "{}: {target}", document.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{checked}");
        let method = read_text(&folder.path().join("docs/method.md")).expect("the method");
        assert!(method.contains("A manifest names") && !method.contains("corpus.json"), "the manifest is linked");
    }
}
