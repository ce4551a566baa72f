//! The tests of Mercurial repositories, named after commands as those of Git are. The output of stock hg is the
//! reference.

mod bench;
mod convert;
mod exec;
mod extension;
mod fixtures;
mod narrow;
mod replay;
mod robustness;
mod serve;
mod shares;
mod size;
mod stock_hg;
mod verify;
