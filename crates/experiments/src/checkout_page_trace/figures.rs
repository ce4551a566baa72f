//! The figures of all rounds for the pack and for its index.

use std::collections::HashMap;

use repackbench_analysis::median;
use repackbench_reader::{AccessPart, AccessTrace, FileRole, ObjectKind};
use repackbench_records::Estimate;
use repackbench_timing::{
    arms::cold::touches::{FirstTouch, FirstTouches, PageFault},
    trace::{Device, pages::PageSpace},
};

use super::touches::{Modes, TouchOrder, misses_after_a_jump, share};

/// First touches of the files of one role. Lists have a value for each round, or for each in which touches fall into
/// two modes.
#[derive(Debug, Default)]
pub(super) struct RoleFigures {
    /// The order of all touches; it is the same in each round.
    pub(super) order: TouchOrder,
    /// The order of the touches at the beginning.
    pub(super) beginning: TouchOrder,
    /// Pages of the files.
    pub(super) pages: u64,
    /// The shares of hits.
    pub(super) hits: Vec<f64>,
    /// The medians of hits that took a page fault, in seconds.
    pub(super) hit: Vec<f64>,
    /// The medians of misses, in seconds.
    pub(super) miss: Vec<f64>,
    /// A touch is a hit if it takes less, in seconds.
    pub(super) threshold: Vec<f64>,
    /// The numbers of misses.
    pub(super) misses: Vec<f64>,
    /// The shares of misses that do not follow a touch of the page before.
    pub(super) misses_after_a_jump: Vec<f64>,
    /// The shares of touches that took no page fault.
    pub(super) without_fault: Vec<f64>,
    /// The shares of the files' pages that were in memory at the end.
    pub(super) resident: Vec<f64>,
}

/// The beginning of an index's first touches is this part of them.
const BEGINNING: usize = 4;

impl RoleFigures {
    /// The figures of `role` in `rounds` of `trace`. The beginning is a quarter of the touches, and at least `lines` of
    /// them: as many as were published.
    pub(super) fn of(role: FileRole, trace: &AccessTrace, rounds: &[FirstTouches], lines: usize) -> Self {
        let space = PageSpace::new(trace);
        let mut figures = RoleFigures::default();
        for (number, file) in space.files().iter().enumerate().filter(|(_, file)| file.role == role) {
            figures.pages += file.pages.len() as u64;
            let pages: Vec<u64> = rounds.first().map(|round| pages_of(round, number)).unwrap_or_default();
            figures.order += TouchOrder::of(&pages);
            let beginning = pages.get(..(pages.len() / BEGINNING).max(lines)).unwrap_or(&pages);
            figures.beginning += TouchOrder::of(beginning);
        }
        rounds.iter().for_each(|round| figures.add(role, trace, round));
        figures
    }

    fn add(&mut self, role: FileRole, trace: &AccessTrace, round: &FirstTouches) {
        let is_of_role = |file: usize| trace.files.get(file).is_some_and(|file| file.role == role);
        let touches: Vec<FirstTouch> = round.touches.iter().copied().filter(|touch| is_of_role(touch.file)).collect();
        let without_fault = touches.iter().filter(|touch| touch.fault == PageFault::None).count() as u64;
        self.without_fault.extend(share(without_fault, touches.len() as u64));
        let (mut pages, mut resident) = (0, 0);
        for (_, found) in round.resident.iter().enumerate().filter(|(file, _)| is_of_role(*file)) {
            pages += found.map_or(0, |found| found.pages);
            resident += found.map_or(0, |found| found.resident);
        }
        self.resident.extend(share(resident, pages));
        let Some(modes) = Modes::of(&touches) else { return };
        self.hits.extend(modes.hit_share());
        self.hit.push(modes.hit);
        self.miss.push(modes.miss);
        self.threshold.push(modes.threshold);
        self.misses.push(modes.misses as f64);
        self.misses_after_a_jump.extend(share(misses_after_a_jump(&touches, modes.threshold), modes.misses));
    }

    /// The medians over rounds of the two modes.
    pub(super) fn median_modes(&self) -> Option<Modes> {
        let median = |samples: &[f64]| median(&mut samples.to_vec());
        let misses = median(&self.misses)?;
        Some(Modes {
            threshold: median(&self.threshold)?,
            hit: median(&self.hit)?,
            miss: median(&self.miss)?,
            hits: (self.order.touched as f64 - misses).max(0.0).round() as u64,
            misses: misses.round() as u64,
        })
    }
}

/// The median of values that may be 0, such as shares, without an interval.
pub(super) fn median_only(samples: &[f64]) -> Option<Estimate> {
    Some(Estimate { value: median(&mut samples.to_vec())?, interval: None, samples: samples.to_vec() })
}

/// The pages of a file in the order of their first touches.
fn pages_of(round: &FirstTouches, file: usize) -> Vec<u64> {
    round.touches.iter().filter(|touch| touch.file == file).map(|touch| touch.page).collect()
}

/// One line of a trace in the published form, with the modelled time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) page: u64,
    pub(super) seconds: f64,
    pub(super) modelled: f64,
}

/// The touches of the file of `role` with the most touches, with the times that `device` would take.
pub(super) fn lines(role: FileRole, trace: &AccessTrace, round: &FirstTouches, device: &Device) -> Vec<Line> {
    let count = |file: usize| round.touches.iter().filter(|touch| touch.file == file).count();
    let files = trace.files.iter().enumerate().filter(|(_, file)| file.role == role).map(|(number, _)| number);
    let Some(most) = files.max_by_key(|number| count(*number)) else { return Vec::new() };
    let space = PageSpace::new(trace);
    let start = space.files().get(most).map_or(0, |file| file.pages.start);
    let order = space.first_touches(trace);
    let costs = order.iter().zip(device.first_touches(trace)).filter(|((file, _), _)| *file == most);
    let modelled: HashMap<u64, f64> =
        costs.map(|((_, page), cost)| ((page - start) as u64, cost.as_secs_f64())).collect();
    let touches = round.touches.iter().filter(|touch| touch.file == most);
    let line = |touch: &FirstTouch| Line {
        page: touch.page,
        seconds: touch.time.as_secs_f64(),
        modelled: modelled.get(&touch.page).copied().unwrap_or_default(),
    };
    touches.map(line).collect()
}

/// The share of the first touches of files of `role` that cost nothing on `device`, because the page came with an
/// earlier one.
pub(super) fn modelled_hits(role: FileRole, trace: &AccessTrace, device: &Device) -> Option<f64> {
    let space = PageSpace::new(trace);
    let is_of_role = |file: usize| space.files().get(file).is_some_and(|file| file.role == role);
    let order = space.first_touches(trace);
    let costs = order.iter().zip(device.first_touches(trace)).filter(|((file, _), _)| is_of_role(*file));
    let (mut hits, mut all) = (0, 0);
    for (_, cost) in costs {
        all += 1;
        hits += u64::from(cost.is_zero());
    }
    share(hits, all)
}

/// Where a pack holds the trees of the revision and the trees that they are deltas of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreePlaces {
    /// The number of trees.
    pub(super) trees: u64,
    /// How many of them are deltas.
    pub(super) deltas: u64,
    /// Their stored bytes.
    pub(super) bytes: u64,
    /// The pages that hold them.
    pub(super) pages: u64,
    /// The stretches of adjacent pages among these.
    pub(super) runs: u64,
}

impl TreePlaces {
    /// The places of the trees that `trace`, of a checkout, read.
    pub(super) fn of(trace: &AccessTrace) -> Self {
        let space = PageSpace::new(trace);
        let mut places = TreePlaces::default();
        let mut pages: Vec<usize> = Vec::new();
        for access in &trace.accesses {
            let Some(kind) = access.kind.filter(|kind| kind.object == ObjectKind::Tree) else { continue };
            if trace.files.get(access.file as usize).is_none_or(|file| file.role != FileRole::Pack) {
                continue;
            }
            pages.extend(space.pages_of(access));
            places.bytes += access.len;
            if access.part == AccessPart::Chunk {
                places.trees += 1;
                places.deltas += u64::from(kind.is_delta);
            }
        }
        pages.sort_unstable();
        pages.dedup();
        places.pages = pages.len() as u64;
        places.runs = pages.chunk_by(|page, next| *next == page + 1).count() as u64;
        places
    }
}

/// An order of the pack, compared with the source's.
pub(super) struct OrderGain {
    pub(super) label: String,
    /// The places of the trees in it.
    pub(super) trees: TreePlaces,
    /// The modelled time of the job on a disk that has to seek, as a part of the time in the source's order.
    pub(super) modelled: f64,
    /// The measured cold time, as a part of the time in the source's order.
    pub(super) measured: Option<Estimate>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use repackbench_pagecache::Residency;
    use repackbench_reader::{Access, ChunkKind, TracedFile};
    use repackbench_timing::trace::pages::PAGE_LEN;

    use super::*;

    fn trace() -> AccessTrace {
        let file = |role, pages: u64| TracedFile { path: "file".into(), len: pages * PAGE_LEN, role };
        let access = |file, page: u64, object, is_delta| Access {
            file,
            part: AccessPart::Chunk,
            kind: Some(ChunkKind { object, is_delta }),
            offset: page * PAGE_LEN + 10,
            len: 20,
        };
        let accesses = vec![
            access(0, 4, ObjectKind::Tree, false),
            access(1, 0, ObjectKind::Blob, false),
            access(0, 5, ObjectKind::Tree, true),
            access(0, 2, ObjectKind::Blob, false),
            access(0, 8, ObjectKind::Tree, true),
            access(0, 8, ObjectKind::Tree, true),
        ];
        let files = vec![file(FileRole::Pack, 10), file(FileRole::PackIndex, 4)];
        AccessTrace { files, accesses, ..AccessTrace::default() }
    }

    fn round() -> FirstTouches {
        let touch =
            |file, page, nanoseconds, fault| FirstTouch { file, page, time: Duration::from_nanos(nanoseconds), fault };
        FirstTouches {
            touches: vec![
                touch(0, 4, 4_000_000, PageFault::Major),
                touch(1, 0, 9_000_000, PageFault::Major),
                touch(0, 5, 400, PageFault::Minor),
                touch(0, 2, 40, PageFault::None),
                touch(0, 8, 6_000_000, PageFault::Major),
            ],
            resident: vec![Some(Residency { pages: 10, resident: 8 }), Some(Residency { pages: 4, resident: 4 })],
            again: Duration::from_nanos(30),
        }
    }

    #[test]
    fn figures_of_a_role_come_from_its_files() {
        let pack = RoleFigures::of(FileRole::Pack, &trace(), &[round(), round()], 2);
        assert_eq!(pack.order, TouchOrder { touched: 4, spanned: 7, next: 1, ahead: 1, back: 1 });
        assert_eq!(pack.beginning, TouchOrder { touched: 2, spanned: 2, next: 1, ahead: 0, back: 0 });
        assert_eq!(pack.pages, 10);
        assert_eq!(pack.hits, [0.5, 0.5]);
        assert_eq!(pack.misses_after_a_jump, [1.0, 1.0]);
        assert_eq!(pack.without_fault, [0.25, 0.25]);
        assert_eq!(pack.resident, [0.8, 0.8]);
        assert_eq!(pack.miss, [5e-3, 5e-3]);
        let index = RoleFigures::of(FileRole::PackIndex, &trace(), &[round()], 2);
        assert_eq!((index.hits.len(), index.resident.as_slice()), (0, &[1.0][..]), "a single mode");
    }

    #[test]
    fn lines_have_page_cost_and_modelled_cost() {
        let device = Device { readahead: PAGE_LEN, latency: Duration::from_millis(8), ..Device::hdd() };
        let lines = lines(FileRole::Pack, &trace(), &round(), &device);
        let pages: Vec<(u64, f64)> = lines.iter().map(|line| (line.page, line.seconds)).collect();
        assert_eq!(pages, [(4, 4e-3), (5, 4e-7), (2, 4e-8), (8, 6e-3)]);
        assert!(lines.iter().all(|line| line.modelled >= 8e-3), "each is a seek, with the index in between: {lines:?}");
    }

    #[test]
    fn page_read_with_an_earlier_one_is_a_modelled_hit() {
        let hits = |pages: u64| {
            let device = Device { readahead: pages * PAGE_LEN, ..Device::hdd() };
            modelled_hits(FileRole::Pack, &trace(), &device)
        };
        // First touches: 4, 5, 2, 8. Around 4 are 2 to 5, and around 8 are 6 to 9.
        assert_eq!((hits(1), hits(4), hits(100)), (Some(0.0), Some(0.5), Some(0.75)));
    }

    #[test]
    fn trees_and_their_pages_are_counted() {
        let expected = TreePlaces { trees: 4, deltas: 3, bytes: 80, pages: 3, runs: 2 };
        assert_eq!(TreePlaces::of(&trace()), expected);
    }
}
