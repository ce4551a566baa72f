//! Stores and orders of variants.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use repackbench_writer::{Layout, Order, StoreKind};

use crate::failure::{Failure, USAGE};

/// The output of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// A repository.
    Repository(Layout),
    /// One revision as a tree of files.
    Files,
}

/// The name of a tree of files among the stores.
const FILES: &str = "files";

/// One layout.
#[derive(Debug, Args)]
pub(crate) struct LayoutArguments {
    /// What holds the objects: pack, packs and loose objects or revlogs as in the source; loose, one file each, none
    /// of them a delta; btree, one B-tree, none of them a delta; files, no repository but the files of one revision,
    /// each compressed on its own, as a .gz, .zst, .bz2 or .xz if the codec has such a format.
    #[arg(long, value_name = "STORE", default_value = StoreKind::AsFound.name(), value_parser = stores_and_files())]
    #[arg(help_heading = super::EXPERT)]
    store: StoreOrFiles,

    /// Revision whose files --store files writes [default: HEAD, or Mercurial's tip].
    ///
    /// In Mercurial it may be a revset, for which hg is asked as by bench --rev.
    #[arg(long, value_name = "REV", allow_negative_numbers = true, help_heading = super::EXPERT)]
    pub(crate) rev: Option<String>,

    /// Order of the entries in each pack: source, unchanged; recency, as git would write them now; kind, commits,
    /// tags, trees, blobs; path, all versions of a file together; checkout, what a checkout of HEAD reads, in that
    /// order, then recency; trees-first, all trees of HEAD together, then its files, then recency. Bases come before
    /// their deltas.
    #[arg(long, value_name = "ORDER", default_value = Order::Source.name(), value_parser = orders())]
    #[arg(help_heading = super::EXPERT)]
    order: Order,

    /// Allow deltas before their bases where the order requires it, and name those bases by id, which takes longer
    /// headers.
    #[arg(long, help_heading = super::EXPERT)]
    order_refs: bool,
}

impl LayoutArguments {
    /// The output. Rejects options that exclude each other.
    pub(crate) fn written(&self, is_rechosen: bool, is_checked: bool) -> Result<Written, Failure> {
        let is_ordered = self.order != Order::Source || self.order_refs;
        match self.store {
            StoreOrFiles::Files if is_ordered => Err(Failure::new(USAGE, "--order: a tree of files has no packs")),
            StoreOrFiles::Files if is_rechosen => Err(Failure::new(USAGE, "--rechosen: a tree of files has no deltas")),
            StoreOrFiles::Files if is_checked => {
                Err(Failure::new(USAGE, "--check: a tree of files has one revision, and no hashes to check"))
            }
            StoreOrFiles::Files => Ok(Written::Files),
            StoreOrFiles::Store(_) if self.rev.is_some() => Err(Failure::new(
                USAGE,
                "--rev: a repository is converted whole; only --store files writes one revision",
            )),
            StoreOrFiles::Store(store) => {
                Ok(Written::Repository(Layout { store, order: self.order, reference_deltas: self.order_refs }))
            }
        }
    }
}

/// Several layouts: each store, and packs in each order.
#[derive(Debug, Args)]
pub(crate) struct LayoutAxes {
    /// What holds the objects of variants: pack, loose or btree, as `convert` describes them, or several after
    /// commas, each codec in each. The first is that of the baseline.
    #[arg(long = "store", value_name = "STORE", value_delimiter = ',', value_parser = stores())]
    #[arg(help_heading = super::EXPERT)]
    stores: Vec<StoreKind>,

    /// Order of pack entries: source, recency, kind, path, checkout or trees-first, as `convert` describes them, or
    /// several after commas, each codec in each. The first is that of the baseline.
    #[arg(long = "order", value_name = "ORDER", value_delimiter = ',', value_parser = orders())]
    #[arg(help_heading = super::EXPERT)]
    orders: Vec<Order>,

    /// Allow deltas before their bases where an order other than source requires it.
    #[arg(long, requires = "orders", help_heading = super::EXPERT)]
    order_refs: bool,
}

impl LayoutAxes {
    /// Every layout once, or none if no store and no order is named.
    pub(crate) fn named(&self) -> Vec<Layout> {
        if self.stores.is_empty() && self.orders.is_empty() { Vec::new() } else { self.layouts() }
    }

    /// Every layout once, in the order typed.
    pub(crate) fn layouts(&self) -> Vec<Layout> {
        let stores = if self.stores.is_empty() { &[StoreKind::AsFound][..] } else { &self.stores };
        let orders = if self.orders.is_empty() { &[Order::Source][..] } else { &self.orders };
        // Without packs the orders are kept, so that the combination is rejected later.
        let has_packs = stores.contains(&StoreKind::AsFound);
        let is_ordered = orders.iter().any(|order| *order != Order::Source);
        let mut layouts = Vec::new();
        for store in stores.iter().copied() {
            let orders = if store == StoreKind::AsFound || !has_packs { orders } else { &[Order::Source] };
            for order in orders.iter().copied() {
                let reference_deltas = self.order_refs && (order != Order::Source || !is_ordered);
                let layout = Layout { store, order, reference_deltas };
                if !layouts.contains(&layout) {
                    layouts.push(layout);
                }
            }
        }
        layouts
    }
}

/// A store, or a tree of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreOrFiles {
    Store(StoreKind),
    Files,
}

fn stores_and_files() -> impl TypedValueParser<Value = StoreOrFiles> {
    let names = StoreKind::ALL.map(StoreKind::name).into_iter().chain([FILES]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        FILES => Ok(StoreOrFiles::Files),
        name => name.parse().map(StoreOrFiles::Store),
    })
}

fn stores() -> impl TypedValueParser<Value = StoreKind> {
    PossibleValuesParser::new(StoreKind::ALL.map(StoreKind::name)).try_map(|name| name.parse::<StoreKind>())
}

fn orders() -> impl TypedValueParser<Value = Order> {
    PossibleValuesParser::new(Order::ALL.map(Order::name)).try_map(|name| name.parse::<Order>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stores: &[StoreKind], orders: &[Order], order_refs: bool) -> Vec<String> {
        let axes = LayoutAxes { stores: stores.to_vec(), orders: orders.to_vec(), order_refs };
        axes.layouts().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_packs_are_multiplied_by_orders() {
        let (pack, loose) = (StoreKind::AsFound, StoreKind::Loose);
        assert_eq!(shown(&[], &[], false), [""]);
        assert_eq!(shown(&[loose, pack, loose], &[], false), ["store=loose", ""]);
        let orders = [Order::Source, Order::Checkout, Order::Source];
        assert_eq!(shown(&[pack, loose], &orders, false), ["", "order=checkout", "store=loose"]);
        assert_eq!(shown(&[], &orders, true), ["", "order=checkout,refs"]);
        assert_eq!(shown(&[], &[Order::Source], true), ["refs"], "rejected later");
        assert_eq!(shown(&[loose], &[Order::Path], false), ["store=loose,order=path"], "rejected later");
    }
}
