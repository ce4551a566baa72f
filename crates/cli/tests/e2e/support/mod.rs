//! What the tests stand on: running programs, fixture repositories, questions to stock git and stock hg, and looking at files.

pub(crate) mod browser;
#[path = "../../../../../fixtures/built.rs"]
pub(crate) mod built;
pub(crate) mod crafted;
pub(crate) mod dictionary;
#[path = "../../../../../fixtures/executable.rs"]
pub(crate) mod executable;
pub(crate) mod fixture;
pub(crate) mod git;
pub(crate) mod hg;
pub(crate) mod hg_extension;
pub(crate) mod hg_server;
pub(crate) mod preload;
pub(crate) mod program;
pub(crate) mod reseal;
pub(crate) mod revlog;
pub(crate) mod snapshot;

pub(crate) use fixture::{CONVERTIBLE, Fixture};
pub(crate) use program::{Scratch, repackbench};
