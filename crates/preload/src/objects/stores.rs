//! Object stores that this process has opened files of, and their dictionaries.

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

/// Where a store's dictionaries lie, and the table that is there if it has any.
const DICTIONARIES: &str = "info/repackbench";
const TABLE: &str = "dictionaries";

/// What the folder is called in which git keeps what has arrived until it is found good.
const QUARANTINE: &[u8] = b"tmp_objdir-";

/// An object store.
pub(crate) struct ObjectStore {
    /// As the first path led there; absolute.
    path: PathBuf,
    /// The folder of its dictionaries, if it has any.
    dictionaries: Option<PathBuf>,
    tables: OnceLock<DictionarySet>,
    writer: OnceLock<Option<Writer>>,
}

/// What writes into a store with its codec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer(pub(crate) *const c_void);

// SAFETY: the codecs only read it.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

/// Dictionaries that the codecs have read; null where they could not. They last as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DictionarySet(pub(crate) *const c_void);

// SAFETY: what the codecs have read, they only read from then on.
unsafe impl Send for DictionarySet {}
// SAFETY: as above.
unsafe impl Sync for DictionarySet {}

/// All of them, in the order in which they were met. None is ever removed.
static STORES: RwLock<Vec<&'static ObjectStore>> = RwLock::new(Vec::new());

/// The last that was asked for: mostly the next, too.
static LAST: AtomicPtr<ObjectStore> = AtomicPtr::new(ptr::null_mut());

/// Whether any store that was met and that `is_source` has a file called as the one at `path`, in a folder called as its folder.
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
        // SAFETY: null, or one that lasts.
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
        let store =
            Box::leak(Box::new(ObjectStore { path, dictionaries, tables: OnceLock::new(), writer: OnceLock::new() }));
        if let Ok(mut stores) = STORES.write() {
            stores.push(store);
        }
        store
    }

    /// Whether its chunks may need dictionaries.
    pub(crate) fn has_dictionaries(&self) -> bool {
        self.dictionaries.is_some()
    }

    /// Its dictionaries, read when first asked for.
    pub(crate) fn tables(&self) -> DictionarySet {
        *self.tables.get_or_init(|| {
            let none = DictionarySet(ptr::null());
            let (Some(codecs), Some(folder)) = (codecs(), &self.dictionaries) else { return none };
            let Ok(folder) = CString::new(folder.as_os_str().as_bytes()) else { return none };
            // SAFETY: a C string.
            DictionarySet(unsafe { (codecs.dictionaries)(folder.as_ptr()) })
        })
    }

    /// What writes into it, if that is not zlib: with the codec that the environment names, or with the one that its repository's
    /// configuration names. Nothing but what plain git reads is written where no guard keeps plain git away.
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

/// The only store with dictionaries, if there is exactly one.
pub(crate) fn only_one_with_dictionaries() -> Option<&'static ObjectStore> {
    let stores = STORES.read().ok()?;
    let mut with = stores.iter().filter(|store| store.has_dictionaries());
    let first = with.next()?;
    // The same by another path is no other.
    let is_same = |other: &&&ObjectStore| {
        other.dictionaries.as_deref().map(canonical) == first.dictionaries.as_deref().map(canonical)
    };
    with.all(|other| is_same(&other)).then_some(*first)
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The store that what has arrived in `folder` is for: itself, but where git keeps it apart first.
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
