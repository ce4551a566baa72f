//! How a variant lies on disk, where that was chosen.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a variant lies on disk, where it lies otherwise than its source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChosenLayout {
    /// What holds its objects: `pack` for what holds them in the source, `loose` for a file each, `btree` for one B-tree.
    pub store: String,
    /// The order of the entries of each pack: `source`, `recency`, `kind`, `path`, `checkout` or `trees-first`.
    pub order: String,
    /// Whether deltas lie before their bases where the order wants it so, and name them by id.
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
    fn a_layout_is_shown_as_it_is_typed() {
        let shown = |store: &str, order: &str, reference_deltas| {
            ChosenLayout { store: store.into(), order: order.into(), reference_deltas }.to_string()
        };
        assert_eq!(shown("loose", "source", false), "loose");
        assert_eq!(shown("pack", "checkout", false), "order=checkout");
        assert_eq!(shown("pack", "trees-first", true), "order=trees-first,refs");
        assert_eq!(shown("pack", "source", false), "order=source");
    }
}
