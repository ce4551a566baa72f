//! What the rounds come to for the pack and for its index.

use std::collections::HashMap;

use repackbench_reader::{AccessPart, AccessTrace, FileRole, ObjectKind};
use repackbench_timing::{
    arms::cold::touches::{FirstTouch, FirstTouches, PageFault},
    trace::{
        Device,
        pages::{PAGE_LEN, PageSpace},
    },
};

use super::{
    samples::Samples,
    shares::{Modes, TouchOrder, misses_after_a_jump, share},
    verdicts::TreePlaces,
};

/// First touches of the files of one role.
#[derive(Debug, Default)]
pub(super) struct RoleFigures {
    /// In what order they are: the same in each round.
    pub(super) order: TouchOrder,
    /// The same of those at the beginning.
    pub(super) beginning: TouchOrder,
    /// Pages of the files.
    pub(super) pages: u64,
    /// Shares and costs, for each round in which touches fall into two modes.
    pub(super) hits: Samples,
    pub(super) hit: Samples,
    pub(super) miss: Samples,
    pub(super) threshold: Samples,
    pub(super) misses: Samples,
    /// Of the misses, the share that does not follow a touch of the page before.
    pub(super) misses_after_a_jump: Samples,
    /// The share of touches that took no page fault.
    pub(super) mapped_along: Samples,
    /// The share of the files' pages that were in memory at the end.
    pub(super) resident: Samples,
}

/// The part of the first touches of an index that are its beginning, and how many they are at least, as far as there are so many: as many as
/// lines were published.
const BEGINNING: usize = 4;

impl RoleFigures {
    /// Those of `role`, of `rounds` of `trace`. The beginning is a quarter, and `lines` touches at least.
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
        for (number, round) in (0..).zip(rounds) {
            figures.add(number, role, trace, round);
        }
        figures
    }

    fn add(&mut self, number: u32, role: FileRole, trace: &AccessTrace, round: &FirstTouches) {
        let is_of_role = |file: usize| trace.files.get(file).is_some_and(|file| file.role == role);
        let touches: Vec<FirstTouch> = round.touches.iter().copied().filter(|touch| is_of_role(touch.file)).collect();
        let unfaulted = touches.iter().filter(|touch| touch.fault == PageFault::None).count() as u64;
        let along = share(unfaulted, touches.len() as u64);
        self.mapped_along.extend(along.map(|along| (number, along)));
        let (mut pages, mut resident) = (0, 0);
        for (_, found) in round.resident.iter().enumerate().filter(|(file, _)| is_of_role(*file)) {
            pages += found.map_or(0, |found| found.pages);
            resident += found.map_or(0, |found| found.resident);
        }
        self.resident.extend(share(resident, pages).map(|cached| (number, cached)));
        let Some(modes) = Modes::of(touches.iter()) else { return };
        self.hits.extend(modes.hit_share().map(|hits| (number, hits)));
        self.hit.push((number, modes.hit));
        self.miss.push((number, modes.miss));
        self.threshold.push((number, modes.threshold));
        self.misses.push((number, modes.misses as f64));
        let (mut after_a_jump, mut misses) = (0, 0);
        for file in touches.chunk_by_file() {
            let (jumps, all) = misses_after_a_jump(&file, modes.threshold);
            after_a_jump += jumps;
            misses += all;
        }
        self.misses_after_a_jump.extend(share(after_a_jump, misses).map(|jumps| (number, jumps)));
    }
}

/// Touches of several files, file by file.
trait ByFile {
    fn chunk_by_file(&self) -> Vec<Vec<FirstTouch>>;
}

impl ByFile for Vec<FirstTouch> {
    fn chunk_by_file(&self) -> Vec<Vec<FirstTouch>> {
        let mut files: Vec<Vec<FirstTouch>> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for touch in self {
            let place = *places.entry(touch.file).or_insert(files.len());
            match files.get_mut(place) {
                Some(file) => file.push(*touch),
                None => files.push(vec![*touch]),
            }
        }
        files
    }
}

/// The pages of a file in the order of their first touches.
fn pages_of(round: &FirstTouches, file: usize) -> Vec<u64> {
    round.touches.iter().filter(|touch| touch.file == file).map(|touch| touch.page).collect()
}

/// One line of a trace in the published form, with what a model makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) page: u64,
    pub(super) seconds: f64,
    pub(super) modelled: f64,
}

/// The touches of the file of `role` that has the most, with what `device` would take.
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

/// The share of the first touches of files of `role` that cost nothing on `device`, as the page came with an earlier one.
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

/// Where the trees lie that the checkout read.
pub(super) fn tree_places(trace: &AccessTrace) -> TreePlaces {
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

/// How many KiB a page has.
pub(super) const PAGE_KIB: u64 = PAGE_LEN >> 10;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use repackbench_pagecache::Residency;
    use repackbench_reader::{Access, ChunkKind, TracedFile};

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
    fn a_role_s_figures_are_those_of_its_files() {
        let pack = RoleFigures::of(FileRole::Pack, &trace(), &[round(), round()], 2);
        assert_eq!(pack.order, TouchOrder { touched: 4, spanned: 7, next: 1, ahead: 1, back: 1 });
        assert_eq!(pack.beginning, TouchOrder { touched: 2, spanned: 2, next: 1, ahead: 0, back: 0 });
        assert_eq!(pack.pages, 10);
        assert_eq!(pack.hits, [(0, 0.5), (1, 0.5)]);
        assert_eq!(pack.misses_after_a_jump, [(0, 1.0), (1, 1.0)]);
        assert_eq!(pack.mapped_along, [(0, 0.25), (1, 0.25)]);
        assert_eq!(pack.resident, [(0, 0.8), (1, 0.8)]);
        assert_eq!(pack.miss, [(0, 5e-3), (1, 5e-3)]);
        let index = RoleFigures::of(FileRole::PackIndex, &trace(), &[round()], 2);
        assert_eq!((index.hits.len(), index.resident.as_slice()), (0, &[(0, 1.0)][..]), "one mode alone");
    }

    #[test]
    fn lines_have_their_page_its_cost_and_what_the_model_says() {
        let device = Device { readahead: PAGE_LEN, latency: Duration::from_millis(8), ..Device::hdd() };
        let lines = lines(FileRole::Pack, &trace(), &round(), &device);
        let pages: Vec<(u64, f64)> = lines.iter().map(|line| (line.page, line.seconds)).collect();
        assert_eq!(pages, [(4, 4e-3), (5, 4e-7), (2, 4e-8), (8, 6e-3)]);
        assert!(lines.iter().all(|line| line.modelled >= 8e-3), "each is a seek, the index lies between: {lines:?}");
    }

    #[test]
    fn what_comes_with_an_earlier_page_is_a_modelled_hit() {
        let hits = |pages: u64| {
            let device = Device { readahead: pages * PAGE_LEN, ..Device::hdd() };
            modelled_hits(FileRole::Pack, &trace(), &device)
        };
        // First touches: 4, 5, 2, 8. Around 4 lie 2 to 5, and around 8 lie 6 to 9.
        assert_eq!((hits(1), hits(4), hits(100)), (Some(0.0), Some(0.5), Some(0.75)));
    }

    #[test]
    fn trees_are_counted_where_they_lie() {
        let expected = TreePlaces { trees: 4, deltas: 3, bytes: 80, pages: 3, runs: 2 };
        assert_eq!(tree_places(&trace()), expected);
    }
}
