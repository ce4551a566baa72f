//! Tests of conversions and of the stores they write, on repositories that are built here.

mod btree_store;
mod hg_revlogs;
mod lmdb;
mod offset_rewriting;
mod support;
