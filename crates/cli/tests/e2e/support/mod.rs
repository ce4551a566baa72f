//! Helpers: running programs, fixture repositories, questions to stock git and hg, and reading files.

pub(crate) mod browser;
#[path = "../../../../../fixtures/built.rs"]
pub(crate) mod built;
pub(crate) mod crafted;
pub(crate) mod dictionary;
pub(crate) mod disturbed;
#[path = "../../../../../fixtures/executable.rs"]
pub(crate) mod executable;
pub(crate) mod fixture;
pub(crate) mod git;
pub(crate) mod hg;
pub(crate) mod log;
pub(crate) mod open_pack;
pub(crate) mod preload;
pub(crate) mod program;
pub(crate) mod records;
pub(crate) mod snapshot;

pub(crate) use fixture::{CONVERTIBLE, Fixture};
pub(crate) use hg::extension as hg_extension;
pub(crate) use program::{Scratch, repackbench};
