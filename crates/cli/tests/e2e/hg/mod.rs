//! The same promises on Mercurial repositories, with stock hg's own output for the truth.

mod bench;
mod beside_revlogs;
mod changing;
mod command;
mod conversion;
mod damage;
mod exchange;
mod exec;
mod forged;
mod kinds;
mod large_texts;
mod lies;
mod patches;
mod refused;
mod replay;
mod serve;
mod size;
mod stock;
mod verify;
