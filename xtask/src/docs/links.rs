//! Checks that every link in the pages of the site leads to a page or file of it, and to a heading there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::files::{read_text, with_extension};
use crate::process::{Failure, Outcome};

/// Pages that mdBook makes of no chapter.
const OF_MDBOOK: [&str; 3] = ["404.html", "print.html", "toc.html"];

/// Checks all pages below `site`.
pub(super) fn check(site: &Path) -> Outcome<()> {
    let mut pages = BTreeMap::new();
    for path in with_extension(site, "html")? {
        if !OF_MDBOOK.iter().any(|name| path.ends_with(name)) {
            let text = read_text(&path)?;
            pages.insert(path, text);
        }
    }
    let anchors: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, values(text, " id=\"").collect())).collect();
    let mut dead = Vec::new();
    for (page, text) in &pages {
        for link in values(text, " href=\"").filter(|link| !link.contains(':')) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap_or(site).join(path),
            };
            let target = target.canonicalize().unwrap_or(target);
            let is_there = match anchors.get(&target) {
                Some(headings) => anchor.is_empty() || headings.contains(anchor),
                None => target.is_file() && anchor.is_empty(),
            };
            if !is_there {
                dead.push(format!("{}: {link}", page.strip_prefix(site).unwrap_or(page).display()));
            }
        }
    }
    match dead.is_empty() {
        true => Ok(()),
        false => Err(Failure(format!("dead links:\n{}", dead.join("\n")))),
    }
}

/// The values of an attribute in a page; `opening` is what comes before each.
fn values<'a>(page: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(opening).skip(1).filter_map(|rest| rest.split_once('"')).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn dead_links_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = folder.path().canonicalize().expect("its path");
        let write = |name: &str, text: &str| fs::write(site.join(name), text).expect("a page");
        write("a.html", "<h1 id=\"top\"><a href=\"b.html#end\"></a><a href=\"#top\"></a><a href=\"https://none\"></a>");
        write("b.html", "<h1 id=\"end\"><a href=\"a.html\"></a><a href=\"data.json\"></a>");
        write("data.json", "{}");
        check(&site).expect("no dead link");
        write("data.json.html", "<a href=\"c.html\"></a><a class=\"x\" href=\"a.html#none\"></a>");
        let Err(Failure(message)) = check(&site) else { panic!("dead links pass") };
        assert_eq!(message, "dead links:\ndata.json.html: c.html\ndata.json.html: a.html#none");
    }
}
