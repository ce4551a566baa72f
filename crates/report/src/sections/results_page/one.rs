//! The page of one repository.

use repackbench_analysis::PageRepository;
use repackbench_records::{Host, Vcs};

use super::{ResultsFile, answer::titled, kind_name, measured, page_of};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{bytes, or_dash, thousands},
    sections::estimates::estimates,
};

/// Its facts, predictions and measurements. `home` is the title and path of the first page.
pub(super) fn file(repository: &PageRepository, home: (&str, &str)) -> ResultsFile {
    let listed = &repository.listed;
    let path = page_of(&listed.name);
    let up = "../".repeat(path.matches('/').count());
    let mut articles = vec![facts(repository)];
    articles.extend(estimates(std::slice::from_ref(&repository.estimate)).into_iter().map(with_short_heading));
    articles.extend(measured::one(repository));
    ResultsFile {
        title: listed.name.clone(),
        lead: format!(
            "This page says what other codecs would change in {}: predictions from samples{}.",
            listed.name,
            if repository.checked.is_empty() { "" } else { ", and what bench measured" }
        ),
        linked_words: Vec::new(),
        links: vec![(listed.url.clone(), listed.url.clone()), (home.0.to_owned(), format!("{up}{}", home.1))],
        linked: Vec::new(),
        articles,
        path,
    }
}

/// The article of a repository on its own page. What its heading says of the figures becomes a note above them, as a
/// heading cannot be wrapped.
fn with_short_heading(article: Article) -> Article {
    let article = Article { repository: None, ..article };
    let Some((heading, figures)) = article.heading.split_once(": ") else { return article };
    let (first, rest) = figures.split_at(figures.chars().next().map_or(0, char::len_utf8));
    let note = Block::note(format!("{}{rest}.", first.to_uppercase()));
    Article { heading: heading.to_owned(), blocks: [vec![note], article.blocks.clone()].concat(), ..article }
}

fn facts(repository: &PageRepository) -> Article {
    let (listed, estimate) = (&repository.listed, &repository.estimate);
    let mut table = Table::new([Column::words("what"), Column::words("value")]);
    let state = &estimate.repository;
    let content = format!("{}: {}", kind_name(listed.kind), plain_text(&listed.about));
    table.row(["content", &content]);
    if listed.chosen_on {
        table.row(["specs", "were chosen on it: it is in no summary"]);
    }
    let hash = |hash: Option<&str>| or_dash(hash, plain_text);
    table.row(["commit", &hash(state.tip.as_deref())]);
    if state.vcs != Some(Vcs::Mercurial) {
        let checksums: Vec<String> = estimate.pack_checksums.iter().map(|of| plain_text(of)).collect();
        let checksums = if checksums.is_empty() { "not recorded".to_owned() } else { checksums.join(", ") };
        table.row(["checksums of packs", &checksums]);
    }
    table.row(["fingerprint", &plain_text(&state.fingerprint)]);
    table.row(["objects", &thousands(estimate.as_found.chunks)]);
    table.row(["missing objects", &thousands(estimate.missing_objects)]);
    table.row(["partial clone", if state.is_partial_clone { "yes" } else { "no" }]);
    table.row(["size as found", &bytes(estimate.as_found.total_bytes)]);
    table.row(["machine", &or_dash(estimate.host.as_ref().map(Host::description), |of| plain_text(&of))]);
    table.row(["kernel", &hash(estimate.host.as_ref().and_then(|host| host.kernel.as_deref()))]);
    table.row(["repackbench", &plain_text(&estimate.program_version)]);
    table.row(["command", &hash(estimate.command.as_deref())]);
    titled("The repository", vec![Block::Table(table)])
}
