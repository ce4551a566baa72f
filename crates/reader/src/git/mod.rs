//! Git repositories.
//!
//! | module | contents |
//! |---|---|
//! | [`repository`] | layout, configuration, refs |
//! | [`pack`], [`delta`], [`numbered`], [`loose`], [`btree`] | the formats of stored objects |
//! | [`object_store`] | random access to the objects of all of them |
//! | [`history`] | revisions and content: [`History`](crate::History) |
//! | [`store`] | chunks in file order: [`Store`](crate::Store) |
//! | [`verify`], [`whole`] | walks over all objects |

pub mod btree;
pub mod chunk;
pub mod delta;
pub mod hash;
pub mod history;
pub mod incomplete;
pub mod loose;
pub mod numbered;
pub mod object_store;
mod object_walk;
pub mod pack;
pub mod packed_objects;
pub(crate) mod payloads;
pub mod repository;
pub mod store;
pub mod verify;
pub mod whole;

pub use history::{
    CheckoutListing, GitHistory, ListedObject, ListingVisitor, PathNumber, PathTable, SharedObjectStore, held_before,
    introduced_by,
};
pub use object_store::ObjectStore;
pub use repository::GitRepository;
pub use store::GitStore;
