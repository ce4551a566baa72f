//! The page of results: public repositories, each and together.
//!
//! - `answer`: the first screen;
//! - `corpus`: the repositories;
//! - `kinds`: what differs between kinds of content;
//! - `matrices`: each repository under each codec;
//! - `measured`: predictions beside measurements;
//! - `one`: the page of one repository.

mod answer;
mod corpus;
mod kinds;
mod matrices;
mod measured;
mod one;
#[cfg(test)]
mod tests;
mod words;

use repackbench_analysis::{PageRepository, ResultsPage};
use repackbench_records::ContentKind;

use super::fleet::fleet;
use crate::{document::Article, number::counted};

/// A file of the page.
#[derive(Debug, Clone)]
pub struct ResultsFile {
    /// Its path below the folder of results.
    pub path: String,
    /// Its title.
    pub title: String,
    /// What the file answers, in the sentences below the title. Plain.
    pub lead: String,
    /// Links below that: what they say, and where they lead from this file.
    pub links: Vec<(String, String)>,
    /// Words of notes that are links there, and where they lead from this file.
    pub linked_words: Vec<(String, String)>,
    /// The repositories that link to their own files.
    pub linked: Vec<String>,
    /// Its articles.
    pub articles: Vec<Article>,
}

/// The question of the first page.
const TITLE: &str = "What if our objects were compressed with something other than zlib?";

/// The first page.
const INDEX: &str = "README.md";

/// The page of those that were measured, too.
const MEASURED: &str = "measured.md";

/// The page of the held-out ones.
const TOGETHER: &str = "summary.md";

/// The other pages about all repositories, what links call them, and what they say of how many repositories.
const PAGES: [(&str, &str, &str); 4] = [
    ("sizes.md", "Sizes by repository and codec", "This page says how large {} are under each codec: predictions."),
    (
        "times.md",
        "CPU times by repository and codec",
        "This page says how much CPU time replays of {} take under each codec: predictions.",
    ),
    (
        MEASURED,
        "Predictions and measurements",
        "This page says how far predictions were from what `bench` measured, on {}.",
    ),
    (TOGETHER, "All repositories together", "This page says what each codec gains on {} together: predictions."),
];

/// What notes call the page on the price of serving, and where it is from the first page.
const PRICE: (&str, &str) = ("the price of serving", "../serving.md#the-price");

/// All files of the page. They depend on nothing but `page`.
pub fn results_page(page: &ResultsPage) -> Vec<ResultsFile> {
    let articles = [matrices::sizes(page), matrices::times(page), measured::all(page), summary(page)];
    let measured = page.repositories.iter().filter(|of| !of.checked.is_empty()).count();
    let file = |((path, title, lead), articles): ((&str, &str, &str), Vec<Article>)| ResultsFile {
        path: path.to_owned(),
        title: title.to_owned(),
        lead: lead.replace(
            "{}",
            &public(match path {
                MEASURED => measured,
                TOGETHER => page.git.summary.repositories + page.mercurial.summary.repositories,
                _ => page.repositories.len(),
            }),
        ),
        links: vec![(TITLE.to_owned(), INDEX.to_owned())],
        linked_words: Vec::new(),
        linked: names(page),
        articles,
    };
    let all = PAGES.into_iter().zip(articles).map(file);
    let each = page.repositories.iter().map(|repository| one::file(repository, (TITLE, INDEX)));
    std::iter::once(index(page)).chain(all).chain(each).collect()
}

fn index(page: &ResultsPage) -> ResultsFile {
    let mut articles = answer::answer(page);
    articles.extend(kinds::kinds(page));
    articles.extend(corpus::corpus(page));
    let links = PAGES.map(|(path, title, _)| (title.to_owned(), path.to_owned()));
    let adding =
        ("Adding a repository".to_owned(), "../../CONTRIBUTING.md#adding-a-row-to-the-page-of-results".to_owned());
    ResultsFile {
        path: INDEX.to_owned(),
        title: TITLE.to_owned(),
        lead: format!(
            "This page says what other codecs gain on {}: predictions for replays, {}and their limits.",
            public(page.repositories.len()),
            answer::of_newest(page)
        ),
        links: links.into_iter().chain([adding]).collect(),
        linked_words: vec![(PRICE.0.to_owned(), PRICE.1.to_owned())],
        linked: names(page),
        articles,
    }
}

/// `2 public repositories`.
fn public(repositories: usize) -> String {
    counted(repositories as u64, "public repository", "public repositories")
}

fn names(page: &ResultsPage) -> Vec<String> {
    page.repositories.iter().map(|repository| repository.listed.name.clone()).collect()
}

/// The tables of `fleet summarize`, of Git and Mercurial apart.
fn summary(page: &ResultsPage) -> Vec<Article> {
    let parts = [("Git", &page.git), ("Mercurial", &page.mercurial)];
    let articles = |(vcs, of): (&str, &repackbench_analysis::HeldOut)| {
        let articles = if of.summary.repositories > 0 { fleet(&of.summary) } else { Vec::new() };
        let named = |article: Article| Article { heading: format!("{vcs}: {}", article.heading), ..article };
        articles.into_iter().map(named).collect::<Vec<_>>()
    };
    parts.into_iter().flat_map(articles).collect()
}

/// The path of a repository's page.
pub(crate) fn page_of(name: &str) -> String {
    format!("repositories/{name}.md")
}

/// The name of a repository in a table, with a mark if specs were chosen on it.
fn marked_name(repository: &PageRepository) -> String {
    let mark = if repository.listed.chosen_on { CHOSEN_ON } else { "" };
    format!("{}{mark}", repository.listed.name)
}

/// The mark of repositories that specs were chosen on.
const CHOSEN_ON: &str = " (chosen on)";

/// The name of a kind of content in tables.
fn kind_name(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Source => "source code",
        ContentKind::Documents => "documents",
        ContentKind::Compressed => "compressed files",
        ContentKind::Drawings => "drawings",
        ContentKind::Translations => "translations",
        ContentKind::Monorepo => "monorepo",
        ContentKind::ConvertedMercurial => "converted Mercurial",
    }
}
