//! The options of a spec: their names, their codecs and their values.

use crate::algorithm::Algorithm;

/// The name of an option. The parser and the list of valid options both use it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionName {
    Checksum,
    Dict,
    Frame,
    Ids,
    Loose,
    MaxChain,
    Patch,
    Prefix,
    StoreIfLarger,
    Window,
}

impl OptionName {
    pub(super) const ALL: [OptionName; 10] = [
        OptionName::Checksum,
        OptionName::Dict,
        OptionName::Frame,
        OptionName::Ids,
        OptionName::Loose,
        OptionName::MaxChain,
        OptionName::Patch,
        OptionName::Prefix,
        OptionName::StoreIfLarger,
        OptionName::Window,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            OptionName::Checksum => "checksum",
            OptionName::Dict => "dict",
            OptionName::Frame => "frame",
            OptionName::Ids => "ids",
            OptionName::Loose => "loose",
            OptionName::MaxChain => "max-chain",
            OptionName::Patch => "patch",
            OptionName::Prefix => "prefix",
            OptionName::StoreIfLarger => "store-if-larger",
            OptionName::Window => "window",
        }
    }

    /// The description of the option's values; empty for an option without a value.
    pub(super) fn values(self) -> &'static str {
        match self {
            OptionName::Checksum | OptionName::StoreIfLarger => "yes or no",
            OptionName::Dict => "a size such as 112k, or file",
            OptionName::Frame => "magicless or standard",
            OptionName::Ids => "number",
            OptionName::Loose => "a level",
            OptionName::MaxChain => "a number of deltas",
            OptionName::Patch | OptionName::Prefix => "",
            OptionName::Window => "a binary logarithm from 10 to 27",
        }
    }

    pub(super) fn applies_to(self, algorithm: Algorithm) -> bool {
        match self {
            OptionName::Checksum => !algorithm.is_zlib_family(),
            OptionName::StoreIfLarger => !algorithm.is_zlib_family() && algorithm != Algorithm::Store,
            OptionName::Dict => algorithm.longest_dictionary().is_some(),
            OptionName::Frame | OptionName::MaxChain | OptionName::Patch | OptionName::Prefix | OptionName::Window => {
                algorithm == Algorithm::Zstd
            }
            OptionName::Ids => true,
            OptionName::Loose => algorithm.levels().is_some(),
        }
    }
}
