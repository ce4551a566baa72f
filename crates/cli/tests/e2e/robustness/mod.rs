//! What cuts across commands: sources that are damaged, hostile, incomplete, unsupported or changing, and limits of
//! memory, threads and file sizes. Every command ends in good time with a correct result or one clear error.

mod changing_sources;
mod damaged_files;
mod damaged_packs;
mod long_chains;
mod memory_limit;
mod missing_objects;
mod streaming;
mod system_limits;
mod unsupported;
mod untrusted;
