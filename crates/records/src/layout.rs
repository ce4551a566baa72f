//! The layout of a variant on disk, if the user chose it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The layout of a variant on disk, if it differs from its source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChosenLayout {
    /// The store of its objects: `pack` for the source's kind of store, `loose` for a file each, `btree` for one
    /// B-tree.
    pub store: String,
    /// The order of the entries of each pack: `source`, `recency`, `kind`, `path`, `checkout` or `trees-first`.
    pub order: String,
    /// Whether deltas may precede their bases, which they then name by id.
    #[serde(default)]
    pub reference_deltas: bool,
}

impl fmt::Display for ChosenLayout {
    /// As labels show it: `loose`, `order=checkout`, `order=checkout,refs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_store = self.store != "pack";
        if has_store {
            f.write_str(&self.store)?;
        }
        if !has_store || self.order != "source" {
            write!(f, "{}order={}", if has_store { ", " } else { "" }, self.order)?;
        }
        if self.reference_deltas { f.write_str(",refs") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_displayed_as_typed() {
        let shown = |store: &str, order: &str, reference_deltas| {
            ChosenLayout { store: store.into(), order: order.into(), reference_deltas }.to_string()
        };
        assert_eq!(shown("loose", "source", false), "loose");
        assert_eq!(shown("pack", "checkout", false), "order=checkout");
        assert_eq!(shown("pack", "trees-first", true), "order=trees-first,refs");
        assert_eq!(shown("pack", "source", false), "order=source");
    }
}
