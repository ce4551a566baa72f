//! Selects the settings of remotes that a variant keeps: where they are and what is fetched from them, but nothing that
//! makes git run a program.

use bstr::{BStr, BString, ByteSlice as _};
use gix_config::file::SectionRef;

/// Keys of a `remote` section that name no program. Not among them: `uploadpack` and `receivepack`, which a shell runs,
/// `vcs`, which names a helper, and any unknown key.
const KEPT: [&str; 12] = [
    "fetch",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "pushurl",
    "skipdefaultupdate",
    "skipfetchall",
    "tagopt",
    "url",
];

/// Keys that decide which objects may be missing, but not where they would come from.
const KEPT_IN_ISOLATION: [&str; 2] = ["partialclonefilter", "promisor"];

/// URL schemes that git implements itself. For any other scheme it starts the program `git-remote-SCHEME`.
const SCHEMES: [&str; 10] = ["file", "ftp", "ftps", "git", "git+ssh", "http", "https", "rsync", "ssh", "ssh+git"];

/// Which keys of a remote are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remotes {
    /// Those of a variant.
    Named,
    /// Those for isolated commands, which contact no remote.
    Promising,
}

/// The entries of `remote` that are kept, in the order of the file. Adds the names of the others to `left_out`.
pub(super) fn kept_entries(
    remote: SectionRef<'_>,
    remotes: Remotes,
    left_out: &mut Vec<String>,
) -> Vec<(String, Option<BString>)> {
    let mut names: Vec<String> = Vec::new();
    for name in remote.value_names() {
        if !names.iter().any(|seen| seen.eq_ignore_ascii_case(&name)) {
            names.push(name);
        }
    }
    let mut kept = Vec::new();
    for name in names {
        let key = name.to_ascii_lowercase();
        let is_wanted = match remotes {
            Remotes::Named => KEPT.contains(&key.as_str()),
            Remotes::Promising => KEPT_IN_ISOLATION.contains(&key.as_str()),
        };
        let values = match remote.value_implicit(&name) {
            Some(None) => vec![None],
            _ => remote.values(&name).into_iter().map(Some).collect(),
        };
        for value in values {
            let is_url = key == "url" || key == "pushurl";
            if is_wanted && !(is_url && value.as_ref().is_some_and(|url| !is_spoken_by_git(url.as_bstr()))) {
                kept.push((name.clone(), value));
            } else {
                let of = remote.header().subsection_name().unwrap_or_default().to_owned();
                left_out.push(format!("remote.{of}.{name}"));
            }
        }
    }
    kept
}

/// Whether git follows `url` without a helper: a path, `host:path`, or one of [`SCHEMES`].
fn is_spoken_by_git(url: &BStr) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let name_len = url.iter().take_while(|byte| is_of_name(byte)).count();
    let (name, rest) = url.split_at_checked(name_len).unwrap_or_default();
    if rest.starts_with(b"::") {
        return false;
    }
    !rest.starts_with(b"://") || SCHEMES.iter().any(|scheme| name == scheme.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_need_a_remote_helper_are_recognised() {
        for url in
            ["/a/path", "../up", "host:path", "me@host:a/b", "https://example.com/a;b#c", "ssh://h/p", "file:///x"]
        {
            assert!(is_spoken_by_git(url.into()), "{url}");
        }
        for url in ["ext::sh -c 'touch x'", "fd::3", "hg::https://example.com", "ext://x", "persistent-https://x"] {
            assert!(!is_spoken_by_git(url.into()), "{url}");
        }
    }
}
