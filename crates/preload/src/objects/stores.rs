//! The object stores whose files this process has opened, with their dictionaries and codecs.

use std::{
    env,
    ffi::{CString, OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    ptr,
    sync::{
        OnceLock, RwLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use libc::c_void;
use repackbench_preload_abi::CODEC_VARIABLE;

use super::path::split;
use crate::{codecs::codecs, guard};

/// The folder of a store's dictionaries, and the table that it contains if there are any.
const DICTIONARIES: &str = "info/repackbench";
const TABLE: &str = "dictionaries";

/// Prefix of the folder in which git keeps received objects until it has checked them.
const QUARANTINE: &[u8] = b"tmp_objdir-";

/// An object store.
pub(crate) struct ObjectStore {
    /// The absolute path by which it was first reached.
    path: PathBuf,
    /// The folder of its dictionaries; `None` if it has none.
    dictionaries: Option<PathBuf>,
    dictionary_set: OnceLock<DictionarySet>,
    writer: OnceLock<Option<Writer>>,
}

/// A handle of the codecs' library: what encodes objects for a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer(pub(crate) *const c_void);

// SAFETY: the codecs only read what it points to.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

/// A handle of the codecs' library: the dictionaries of a store, or null if they could not be read. Never freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DictionarySet(pub(crate) *const c_void);

// SAFETY: the codecs never change the dictionaries after reading them.
unsafe impl Send for DictionarySet {}
// SAFETY: as above.
unsafe impl Sync for DictionarySet {}

/// All stores, in the order in which they were found. None is ever removed.
static STORES: RwLock<Vec<&'static ObjectStore>> = RwLock::new(Vec::new());

/// The store of the last lookup, which is usually that of the next one, too.
static LAST: AtomicPtr<ObjectStore> = AtomicPtr::new(ptr::null_mut());

/// Whether any known store for which `is_source` returns true has a file whose name and folder name are those of
/// `path`.
pub(crate) fn any_has_namesake(path: &[u8], is_source: impl Fn(&Path) -> bool) -> bool {
    let (folder, name) = split(path);
    let inside = Path::new(OsStr::from_bytes(split(folder).1)).join(OsStr::from_bytes(name));
    let stores = STORES.read().map(|stores| stores.clone()).unwrap_or_default();
    stores.iter().any(|store| is_source(&store.path) && store.path.join(&inside).exists())
}

impl ObjectStore {
    /// The store at `path`.
    pub(crate) fn at(path: &[u8]) -> &'static ObjectStore {
        let path = absolute(path);
        // SAFETY: null, or a store, which is never freed.
        if let Some(last) = unsafe { LAST.load(Ordering::Acquire).as_ref() }
            && last.path == path
        {
            return last;
        }
        let found = ObjectStore::find(path);
        LAST.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
        found
    }

    fn find(path: PathBuf) -> &'static ObjectStore {
        let known = |stores: &[&'static ObjectStore]| stores.iter().find(|store| store.path == path).copied();
        if let Some(store) = STORES.read().ok().and_then(|stores| known(&stores)) {
            return store;
        }
        let dictionaries = store_of(&path).join(DICTIONARIES);
        let dictionaries = dictionaries.join(TABLE).exists().then_some(dictionaries);
        let store = Box::leak(Box::new(ObjectStore {
            path,
            dictionaries,
            dictionary_set: OnceLock::new(),
            writer: OnceLock::new(),
        }));
        if let Ok(mut stores) = STORES.write() {
            stores.push(store);
        }
        store
    }

    /// Whether the store has dictionaries, so that its chunks may need them.
    pub(crate) fn has_dictionaries(&self) -> bool {
        self.dictionaries.is_some()
    }

    /// The store's dictionaries, read on first use.
    pub(crate) fn dictionary_set(&self) -> DictionarySet {
        *self.dictionary_set.get_or_init(|| {
            let none = DictionarySet(ptr::null());
            let (Some(codecs), Some(folder)) = (codecs(), &self.dictionaries) else { return none };
            let Ok(folder) = CString::new(folder.as_os_str().as_bytes()) else { return none };
            // SAFETY: a C string.
            DictionarySet(unsafe { (codecs.dictionaries)(folder.as_ptr()) })
        })
    }

    /// What encodes objects for this store; `None` if zlib does. The codec is the one that the environment names, or
    /// else the one in the repository's configuration. Without a guard, only codecs that git itself can read are used.
    pub(crate) fn writer(&self) -> Option<Writer> {
        *self.writer.get_or_init(|| {
            let config = guard::read(&store_of(&self.path).with_file_name("config"))?;
            let named = env::var_os(CODEC_VARIABLE).map(OsString::into_vec).filter(|name| !name.is_empty());
            let name = CString::new(named.or(config.codec)?).ok()?;
            // SAFETY: a C string.
            let writer = unsafe { (codecs()?.writer)(name.as_ptr(), config.is_guarded) };
            (!writer.is_null()).then_some(Writer(writer))
        })
    }
}

/// The store with dictionaries, if there is exactly one.
pub(crate) fn only_one_with_dictionaries() -> Option<&'static ObjectStore> {
    let stores = STORES.read().ok()?;
    let mut with = stores.iter().filter(|store| store.has_dictionaries());
    let first = with.next()?;
    // Another path to the same store does not count as another store.
    let is_same = |other: &&&ObjectStore| {
        other.dictionaries.as_deref().map(canonical) == first.dictionaries.as_deref().map(canonical)
    };
    with.all(|other| is_same(&other)).then_some(*first)
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The store that objects in `folder` are for: `folder` itself, or its parent if `folder` is git's quarantine.
fn store_of(folder: &Path) -> &Path {
    let (_, name) = split(folder.as_os_str().as_bytes());
    match folder.parent() {
        Some(store) if name.starts_with(QUARANTINE) => store,
        _ => folder,
    }
}

fn absolute(path: &[u8]) -> PathBuf {
    if path.starts_with(b"/") {
        return PathBuf::from(OsStr::from_bytes(path));
    }
    let current = env::current_dir().unwrap_or_default();
    current.join(OsString::from_vec(path.to_vec()))
}
