//! End-to-end tests: they drive the real binary on repositories that real git and hg made, and take the own output of stock git
//! and stock hg for the truth.
//!
//! `support` starts programs and looks at files; every other module is one promise of the program. The repositories come from
//! the scripts in `fixtures/` at the root of the checkout; damaged ones are made from those here, byte by byte.

#![forbid(unsafe_code)]

mod alternatives;
mod bench;
mod bench_sessions;
mod chains;
mod changing;
mod codecs;
mod conversion;
mod corrupt_files;
mod corrupt_packs;
mod every_object;
mod examples;
mod exec;
mod exec_battery;
mod exec_codec;
mod exec_codec_places;
mod exec_daily;
mod exec_leaving;
mod exec_serving;
mod exec_work_trees;
mod experiment;
mod hg;
mod html;
mod incomplete;
mod installed;
mod limits;
mod long_chains;
mod loose_sources;
mod memory_ceiling;
mod orders;
mod outputs;
mod page_trace;
mod payloads;
mod peak_memory;
mod rechosen;
mod refused;
mod replay;
mod report;
mod results;
mod same_bytes;
mod serve;
mod side_files;
mod signals;
mod size;
mod stock;
mod stores;
mod strangers;
mod streaming;
mod support;
mod trace;
mod train;
mod usage;
mod verify;
