//! `sizes` and `cat-all`: the size or the content of every stored object, reachable or not.

use std::collections::BTreeMap;

use repackbench_reader::{Content, History};
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError};

fn label(name: &str) -> WorkloadLabel {
    WorkloadLabel { name: name.to_owned(), parameters: BTreeMap::new() }
}

/// Kind and size of every object, decoding as little as the codec allows.
#[derive(Debug)]
pub(super) struct Sizes;

impl Workload for Sizes {
    fn label(&self) -> WorkloadLabel {
        label("sizes")
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        Ok(history.sizes(&mut |kind, id, size| observer.sized(kind, id, size))?)
    }
}

/// The content of every object, in the order on disk.
#[derive(Debug)]
pub(super) struct CatAll;

impl Workload for CatAll {
    fn label(&self) -> WorkloadLabel {
        label("cat-all")
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        Ok(history.contents(&mut |kind, id, content| match content {
            Content::Whole(content) => observer.whole(kind, id, content),
            Content::Start(len) => observer.start_large(kind, id, len),
            Content::Piece(piece) => observer.large_piece(piece),
            Content::End => observer.end_large(),
        })?)
    }
}
