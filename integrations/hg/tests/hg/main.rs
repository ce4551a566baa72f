//! Tests the Mercurial extension in both releases of Mercurial that `cargo xtask test` installs.

mod damage;
mod engines;
mod exchange;
mod formats;
mod messages;
mod native;
mod proof;
mod support;
