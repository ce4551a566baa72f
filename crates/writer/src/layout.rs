//! How a variant lies on disk, apart from its codec: what holds its objects, and in which order they lie in it.
//!
//! The codec changes what the bytes of an object are, the layout changes where they are. Both are axes of a benchmark, and a variant
//! under the default layout is the one that there was before there was a choice.

use std::{fmt, str::FromStr};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;

use crate::{Result, WriterError};

/// What holds the objects of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// What holds them in the source: packs and loose objects of Git, revlogs of Mercurial. Typed `pack`.
    #[default]
    AsFound,
    /// A file for each object, none of them a delta. Typed `loose`.
    Loose,
    /// One B-tree with a record for each object, none of them a delta. Typed `btree`.
    Btree,
}

impl StoreKind {
    /// All of them.
    pub const ALL: [StoreKind; 3] = [StoreKind::AsFound, StoreKind::Loose, StoreKind::Btree];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::AsFound => "pack",
            StoreKind::Loose => "loose",
            StoreKind::Btree => "btree",
        }
    }
}

/// In which order the entries of each pack lie.
///
/// "Recency" is the order in which git itself writes a pack. What no reference reaches lies behind all else, as it lay to each
/// other before. Bases lie before their deltas, unless [`Layout::reference_deltas`] allows otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As in the source. Typed `source`.
    #[default]
    Source,
    /// As git would write them now. Typed `recency`.
    Recency,
    /// Commits, tags, trees, blobs, each newest first. Typed `kind`.
    Kind,
    /// By path, all versions of a file together, newest first; commits and tags before all. Typed `path`.
    Path,
    /// What a checkout of `HEAD` reads, as it reads it: the commit, its trees, its files in the order of the index. Then recency.
    /// Typed `checkout`.
    Checkout,
    /// The commit of `HEAD` and all its trees together, then its files; each, and all the rest, by recency. Typed `trees-first`.
    TreesFirst,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 6] =
        [Order::Source, Order::Recency, Order::Kind, Order::Path, Order::Checkout, Order::TreesFirst];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Order::Source => "source",
            Order::Recency => "recency",
            Order::Kind => "kind",
            Order::Path => "path",
            Order::Checkout => "checkout",
            Order::TreesFirst => "trees-first",
        }
    }
}

/// How a variant lies on disk, apart from its codec.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// What holds its objects.
    pub store: StoreKind,
    /// In which order the entries of each pack lie.
    pub order: Order,
    /// Whether a delta may lie before its base, which it then names by id: entries lie exactly in the wanted order, and some headers
    /// are longer.
    pub reference_deltas: bool,
}

/// The version of the code that lays variants out. To be raised with every change of an order, of loose stores or of the B-tree, so that
/// a variant that an older program laid out is not taken from the cache for one of this program's.
const LAYOUT_VERSION: u32 = 1;

/// The word that allows deltas to name bases behind them.
const REFERENCE_DELTAS: &str = "refs";

impl Layout {
    /// The layout of a store as it is found, with its packs in another order.
    pub fn in_order(order: Order) -> Self {
        Layout { order, ..Layout::default() }
    }

    /// Whether it is that of the source.
    pub fn is_default(&self) -> bool {
        *self == Layout::default()
    }

    /// What goes behind a codec's name in the name of a file: `.loose`, `.checkout-refs`; nothing for the default.
    pub fn file_suffix(&self) -> String {
        let mut suffix = String::new();
        if self.store != StoreKind::AsFound {
            suffix.push_str(&format!(".{}", self.store.name()));
        }
        if self.order != Order::Source {
            suffix.push_str(&format!(".{}", self.order.name()));
        }
        if self.reference_deltas {
            suffix.push_str(&format!("-{REFERENCE_DELTAS}"));
        }
        suffix
    }

    /// `text`, which says what makes a variant, with this layout; as it is for the default.
    pub(crate) fn added_to(&self, text: String) -> String {
        if self.is_default() { text } else { format!("{text}, {self}") }
    }

    /// As [`added_to`](Layout::added_to), for the key of a variant: with the version of the code that lays it out.
    pub(crate) fn added_to_key(&self, text: String) -> String {
        if self.is_default() { text } else { format!("{}, layout {LAYOUT_VERSION}", self.added_to(text)) }
    }

    /// Refuses a layout that `source` cannot have under `spec`.
    ///
    /// # Errors
    /// [`WriterError::Spec`] with the layout and why not.
    pub fn check(&self, source: &Repository, spec: &CodecSpec) -> Result<()> {
        let why = match source {
            Repository::Hg(_) if self.store != StoreKind::AsFound => {
                "a Mercurial repository is kept in revlogs: expected --store pack"
            }
            Repository::Hg(_) if self.order != Order::Source => {
                "the revisions of a revlog lie in the order of their numbers: expected --order source"
            }
            _ if self.store != StoreKind::AsFound && self.order != Order::Source => {
                "only packs have an order: expected --store pack, or --order source"
            }
            _ if self.reference_deltas && self.order == Order::Source => {
                "in the source's order no delta would lie before its base: expected another --order with --order-refs"
            }
            _ if self.reference_deltas && spec.uses_bases() => {
                "prefix and patch need the base of a delta before it: expected no --order-refs"
            }
            _ if self.store != StoreKind::AsFound && spec.uses_bases() => {
                "prefix and patch need deltas, and only packs have some: expected --store pack"
            }
            _ => return Ok(()),
        };
        Err(self.refused(spec, why))
    }

    /// Whether it asks for an order of packs that nothing in `source` can be in, as nothing is packed.
    pub fn orders_nothing_of(&self, source: &Repository) -> bool {
        match source {
            Repository::Git(source) => self.order != Order::Source && source.packs().is_empty(),
            Repository::Hg(_) => false,
        }
    }

    /// Refuses all but the default for recomputed deltas.
    ///
    /// # Errors
    /// [`WriterError::Spec`] with the layout and why not.
    pub fn check_recomputed(&self, spec: &CodecSpec) -> Result<()> {
        if self.is_default() {
            return Ok(());
        }
        Err(self.refused(spec, "deltas that are chosen again lie as git or hg writes them: expected no --rechosen"))
    }

    fn refused(&self, spec: &CodecSpec, why: &str) -> WriterError {
        WriterError::Spec { spec: self.added_to(spec.to_string()), why: why.to_owned() }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Layout {
    /// `store=loose`, `order=checkout,refs`; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = (self.store != StoreKind::AsFound).then(|| format!("store={}", self.store));
        let order = (self.order != Order::Source).then(|| format!("order={}", self.order));
        let refs = self.reference_deltas.then(|| REFERENCE_DELTAS.to_owned());
        f.write_str(&[store, order, refs].into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl FromStr for StoreKind {
    type Err = WriterError;

    fn from_str(typed: &str) -> Result<Self> {
        find(typed, &StoreKind::ALL, StoreKind::name)
    }
}

impl FromStr for Order {
    type Err = WriterError;

    fn from_str(typed: &str) -> Result<Self> {
        find(typed, &Order::ALL, Order::name)
    }
}

impl FromStr for Layout {
    type Err = WriterError;

    fn from_str(typed: &str) -> Result<Self> {
        let mut layout = Layout::default();
        for part in typed.split(',').filter(|_| !typed.is_empty()) {
            match part.split_once('=') {
                Some(("store", store)) => layout.store = store.parse()?,
                Some(("order", order)) => layout.order = order.parse()?,
                None if part == REFERENCE_DELTAS => layout.reference_deltas = true,
                _ => {
                    let why = format!("expected store=, order= or {REFERENCE_DELTAS}, found '{part}'");
                    return Err(WriterError::Spec { spec: typed.to_owned(), why });
                }
            }
        }
        Ok(layout)
    }
}

/// The one of `all` whose name was typed.
fn find<T: Copy>(typed: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|one| name(*one) == typed).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        WriterError::Spec { spec: typed.to_owned(), why: format!("expected one of {}", names.join(", ")) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_typed() {
        let mut texts = Vec::new();
        for store in StoreKind::ALL {
            for order in Order::ALL {
                for reference_deltas in [false, true] {
                    let layout = Layout { store, order, reference_deltas };
                    assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
                    texts.push(layout.to_string());
                }
            }
        }
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), StoreKind::ALL.len() * Order::ALL.len() * 2);
        assert_eq!("order=checkout,refs".parse::<Layout>().unwrap().file_suffix(), ".checkout-refs");
        assert_eq!("store=pack,order=source".parse::<Layout>().unwrap(), Layout::default());
    }

    #[test]
    fn what_is_neither_is_refused_with_what_is() {
        let why = |typed: &str| typed.parse::<Layout>().unwrap_err().to_string();
        assert_eq!(why("store=tar"), "tar: expected one of pack, loose, btree");
        assert_eq!(why("order=size"), "size: expected one of source, recency, kind, path, checkout, trees-first");
        assert_eq!(why("loose"), "loose: expected store=, order= or refs, found 'loose'");
    }

    #[test]
    fn the_default_changes_no_name() {
        let layout = Layout::default();
        assert!(layout.is_default());
        assert_eq!((layout.to_string(), layout.file_suffix()), (String::new(), String::new()));
        assert_eq!(layout.added_to("zlib:6".to_owned()), "zlib:6");
        assert_eq!(layout.added_to_key("zlib:6".to_owned()), "zlib:6", "variants that there are stay");
        let loose = Layout { store: StoreKind::Loose, ..layout };
        assert_eq!(loose.added_to("zlib:6".to_owned()), "zlib:6, store=loose");
        assert_eq!(loose.added_to_key("zlib:6".to_owned()), format!("zlib:6, store=loose, layout {LAYOUT_VERSION}"));
    }
}
