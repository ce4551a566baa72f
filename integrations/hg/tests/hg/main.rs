//! The Mercurial extension inside real Mercurial: both versions that `cargo xtask test` installs.

mod damage;
mod engines;
mod exchange;
mod formats;
mod messages;
mod native;
mod proof;
mod support;
