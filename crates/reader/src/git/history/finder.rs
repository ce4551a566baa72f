//! Implements the object-store interface of the gix crates.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix_hash::oid;
use gix_object::Data;

use crate::{ObjectKind, git::ObjectStore};

/// A handle to an object store. Only one thread uses it at a time. The libraries require a handle that can be sent to
/// another thread, hence the lock. Without contention its cost is not measurable.
#[derive(Debug, Clone)]
pub struct SharedObjectStore {
    store: Arc<Mutex<ObjectStore>>,
}

impl SharedObjectStore {
    /// Shares `store`.
    pub fn new(store: ObjectStore) -> Self {
        SharedObjectStore { store: Arc::new(Mutex::new(store)) }
    }

    /// The store itself.
    pub fn lock(&self) -> MutexGuard<'_, ObjectStore> {
        // A panic while the lock was held cannot leave the store inconsistent: only complete objects enter its cache.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl gix_object::Find for SharedObjectStore {
    /// A missing object is reported as an empty blob. It is a `.gitattributes` file, which then has no effect.
    fn try_find<'a>(&self, id: &oid, buffer: &'a mut Vec<u8>) -> Result<Option<Data<'a>>, gix_error::Error> {
        let mut store = self.lock();
        let kind = match store.read(id, buffer).map_err(gix_error::Error::from_error)? {
            Some(kind) => kind,
            None => {
                store.note_missing(id).map_err(gix_error::Error::from_error)?;
                buffer.clear();
                ObjectKind::Blob
            }
        };
        Ok(Some(Data { kind: gix_kind(kind), object_hash: id.kind(), data: buffer }))
    }
}

fn gix_kind(kind: ObjectKind) -> gix_object::Kind {
    match kind {
        // A Git store holds none of Mercurial's kinds.
        ObjectKind::Commit | ObjectKind::Changelog => gix_object::Kind::Commit,
        ObjectKind::Tree | ObjectKind::Manifest => gix_object::Kind::Tree,
        ObjectKind::Blob | ObjectKind::Filelog => gix_object::Kind::Blob,
        ObjectKind::Tag => gix_object::Kind::Tag,
    }
}
