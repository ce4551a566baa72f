//! The arms of a measurement: what is measured in turn. [`crate::session`] has the loop.
//!
//! - `replay`: a workload in-process, warm or cold, once or several copies at once;
//! - [`stock`]: jobs as commands of the user's own git and hg;
//! - [`cold`]: copies to read with an empty page cache;
//! - [`chains`]: objects at the end of delta chains of each length;
//! - [`load`]: git as a server of several clients at once;
//! - [`serve`]: packs and bundles for clients that speak a codec and for those that only speak zlib.

pub mod chains;
pub mod cold;
mod job_run;
pub mod load;
pub(crate) mod replay;
pub mod serve;
pub mod stock;

pub(crate) use self::job_run::JobRun;
