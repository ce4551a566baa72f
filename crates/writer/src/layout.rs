//! The layout of a variant on disk: which store holds its objects, and in which order.
//!
//! The codec decides the bytes of a stored object, the layout decides where they are. Both are axes of a benchmark. The
//! default layout is that of the source.

use std::{fmt, str::FromStr};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;

use crate::{Result, WriterError};

/// What holds the objects of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// The store of the source: packs and loose objects of Git, revlogs of Mercurial. Typed `pack`.
    #[default]
    AsFound,
    /// One file per object, without deltas. Typed `loose`.
    Loose,
    /// One B-tree with a record per object, without deltas. Typed `btree`.
    Btree,
}

impl StoreKind {
    /// All stores.
    pub const ALL: [StoreKind; 3] = [StoreKind::AsFound, StoreKind::Loose, StoreKind::Btree];

    /// The name that the user types.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::AsFound => "pack",
            StoreKind::Loose => "loose",
            StoreKind::Btree => "btree",
        }
    }
}

/// The order of the entries in each pack.
///
/// "Recency" is the order in which git itself writes a pack. Unreachable objects come last, in their old order. Bases
/// come before their deltas, unless [`Layout::reference_deltas`] allows otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The order of the source. Typed `source`.
    #[default]
    Source,
    /// The order in which git would write the entries now. Typed `recency`.
    Recency,
    /// Commits, tags, trees, blobs, each newest first. Typed `kind`.
    Kind,
    /// Commits and tags, then the rest by path: all versions of a file together, newest first. Typed `path`.
    Path,
    /// The objects that a checkout of `HEAD` reads, in the order in which it reads them: the commit, its trees, its
    /// files in index order. Then recency. Typed `checkout`.
    Checkout,
    /// The commit of `HEAD` and all its trees together, then its files, then the rest; each by recency. Typed
    /// `trees-first`.
    TreesFirst,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 6] =
        [Order::Source, Order::Recency, Order::Kind, Order::Path, Order::Checkout, Order::TreesFirst];

    /// The name that the user types.
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

/// The layout of a variant on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The store of its objects.
    pub store: StoreKind,
    /// The order of the entries in each pack.
    pub order: Order,
    /// Whether a delta may come before its base, which it then names by id. The entries are then exactly in the wanted
    /// order, and some headers are longer.
    pub reference_deltas: bool,
}

/// The version of the code that lays out variants. Raise it with every change of an order, of loose stores or of the
/// B-tree: otherwise the cache would return a variant that an older program laid out.
const LAYOUT_VERSION: u32 = 1;

/// The word that allows deltas before their bases.
const REFERENCE_DELTAS: &str = "refs";

impl Layout {
    /// The layout of the source, with its packs in another order.
    pub fn in_order(order: Order) -> Self {
        Layout { order, ..Layout::default() }
    }

    /// Whether this is the layout of the source.
    pub fn is_default(&self) -> bool {
        *self == Layout::default()
    }

    /// The suffix of file names, after the name of the codec: `.loose`, `.checkout-refs`; empty for the default layout.
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

    /// Appends this layout to `text`, which describes a variant. The default layout adds nothing.
    pub(crate) fn added_to(&self, text: String) -> String {
        if self.is_default() { text } else { format!("{text}, {self}") }
    }

    /// As [`added_to`](Layout::added_to), for the cache key of a variant: adds the version of the layout code too.
    pub(crate) fn added_to_key(&self, text: String) -> String {
        if self.is_default() { text } else { format!("{}, layout {LAYOUT_VERSION}", self.added_to(text)) }
    }

    /// Refuses a layout that `source` cannot have under `spec`.
    ///
    /// # Errors
    /// [`WriterError::Spec`] with the layout and the reason.
    pub fn check(&self, source: &Repository, spec: &CodecSpec) -> Result<()> {
        let why = match source {
            Repository::Hg(_) if self.store != StoreKind::AsFound => {
                "Mercurial repositories are stored in revlogs: expected --store pack"
            }
            Repository::Hg(_) if self.order != Order::Source => {
                "the revisions of a revlog are in the order of their numbers: expected --order source"
            }
            _ if self.store != StoreKind::AsFound && self.order != Order::Source => {
                "only packs have an order: expected --store pack, or --order source"
            }
            _ if self.reference_deltas && self.order == Order::Source => {
                "in the order of the source no delta comes before its base: expected another --order with --order-refs"
            }
            _ if self.reference_deltas && spec.uses_bases() => {
                "prefix and patch need the base before the delta: expected no --order-refs"
            }
            _ if self.store != StoreKind::AsFound && spec.uses_numbers() => {
                "ids=number needs packs, whose indexes say what the numbers mean: expected --store pack"
            }
            _ if self.store != StoreKind::AsFound && spec.uses_bases() => {
                "prefix and patch need deltas, which only packs have: expected --store pack"
            }
            _ => return Ok(()),
        };
        Err(self.refused(spec, why))
    }

    /// Whether this layout orders packs, but `source` has no packs.
    pub fn has_nothing_to_order(&self, source: &Repository) -> bool {
        match source {
            Repository::Git(source) => self.order != Order::Source && source.packs().is_empty(),
            Repository::Hg(_) => false,
        }
    }

    /// Refuses every layout but the default for recomputed deltas.
    ///
    /// # Errors
    /// [`WriterError::Spec`] with the layout and the reason.
    pub fn check_recomputed(&self, spec: &CodecSpec) -> Result<()> {
        if self.is_default() {
            return Ok(());
        }
        Err(self.refused(spec, "recomputed deltas are stored as git or hg writes them: expected no --rechosen"))
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
    /// `store=loose`, `order=checkout,refs`; empty for the default layout.
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

/// The item of `all` whose name was typed.
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
    fn printed_layouts_parse_back() {
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
    fn unknown_names_are_errors_that_list_the_known_ones() {
        let why = |typed: &str| typed.parse::<Layout>().unwrap_err().to_string();
        assert_eq!(why("store=tar"), "tar: expected one of pack, loose, btree");
        assert_eq!(why("order=size"), "size: expected one of source, recency, kind, path, checkout, trees-first");
        assert_eq!(why("loose"), "loose: expected store=, order= or refs, found 'loose'");
    }

    #[test]
    fn default_layout_adds_nothing_to_names_and_keys() {
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
