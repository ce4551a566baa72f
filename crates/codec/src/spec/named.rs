//! Specs that have a name. docs/codec-specs.md says how they were chosen, and on which repositories.

/// Every name and the spec that it stands for.
const NAMED: [(&str, &str); 3] = [
    ("best-size", "zstd:19,dict=112k,patch,prefix"),
    ("best-read", "lz4hc:12,dict=64k"),
    ("balanced", "zstd:9,dict=112k"),
];

/// Every named spec: the name and the spec that it stands for.
pub fn named_specs() -> &'static [(&'static str, &'static str)] {
    &NAMED
}

/// The spec that `name` stands for.
pub(super) fn expansion(name: &str) -> Option<&'static str> {
    NAMED.iter().find(|(named, _)| *named == name).map(|(_, spec)| *spec)
}
