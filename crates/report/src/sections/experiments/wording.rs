//! The words of statements, by identifier: a file for each experiment, and one for what they share.
//!
//! [`statement`](super::statement) explains the placeholders.

mod checkout_page_trace;
mod common;
mod compressors_by_level;
mod flat_vs_gzip_tree;
mod zlib_vs_lz4_revlog;
mod zlib_vs_zstd_pack;
mod zlib_vs_zstd_revlog;

/// Statements with their words.
type Wording = &'static [(&'static str, &'static str)];

const ALL: &[Wording] = &[
    common::WORDING,
    checkout_page_trace::WORDING,
    compressors_by_level::WORDING,
    flat_vs_gzip_tree::WORDING,
    zlib_vs_lz4_revlog::WORDING,
    zlib_vs_zstd_pack::WORDING,
    zlib_vs_zstd_revlog::WORDING,
];

/// The template of the statement `id`.
pub(crate) fn wording(id: &str) -> Option<&'static str> {
    ALL.iter().flat_map(|wording| wording.iter()).find(|(found, _)| *found == id).map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_are_unique_and_braces_match() {
        let mut ids = BTreeSet::new();
        for (id, words) in ALL.iter().flat_map(|wording| wording.iter()) {
            assert!(ids.insert(id), "{id} twice");
            assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{id}");
            assert_eq!(words.matches('{').count(), words.matches('}').count(), "{id}");
        }
    }
}
