//! The pages that an access trace touches: how many, where, and in which order.

use std::{collections::BTreeMap, ops::Range};

use repackbench_reader::{Access, AccessPart, AccessTrace, ChunkKind, FileRole, ObjectKind};
use repackbench_records::{FilePages, FirstTouches, PartAccesses};

/// The length of a page in bytes, whatever the page size of the machine: figures should be the same on all machines.
pub const PAGE_LEN: u64 = 4096;

/// The pages of all files of a trace, numbered consecutively.
#[derive(Debug)]
pub struct PageSpace {
    files: Vec<FileExtent>,
    pages: usize,
}

/// The range of a file among all pages.
#[derive(Debug, Clone)]
pub struct FileExtent {
    /// Its pages.
    pub pages: Range<usize>,
    /// What the file holds.
    pub role: FileRole,
}

impl PageSpace {
    /// The pages of the files of `trace`.
    pub fn new(trace: &AccessTrace) -> Self {
        let mut pages = 0;
        let extent = |file: &repackbench_reader::TracedFile| {
            let start = pages;
            let end = start + usize::try_from(file.len.div_ceil(PAGE_LEN)).unwrap_or(0);
            // One number is left out, so that the first page of a file does not follow the last page of another.
            pages = end + 1;
            FileExtent { pages: start..end, role: file.role }
        };
        let files = trace.files.iter().map(extent).collect();
        PageSpace { files, pages }
    }

    /// The largest number of a page plus one.
    pub fn len(&self) -> usize {
        self.pages
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// The files, in the order of the trace.
    pub fn files(&self) -> &[FileExtent] {
        &self.files
    }

    /// The pages that `access` touches.
    pub fn pages_of(&self, access: &Access) -> Range<usize> {
        let Some(file) = self.files.get(access.file as usize) else { return 0..0 };
        if access.len == 0 {
            return 0..0;
        }
        let page = |byte: u64| usize::try_from(byte / PAGE_LEN).unwrap_or(usize::MAX);
        let at = |page: usize| file.pages.start.saturating_add(page).min(file.pages.end);
        let last = access.offset.saturating_add(access.len - 1);
        at(page(access.offset))..at(page(last).saturating_add(1))
    }

    /// Calls `touch` with the file and the page of every touch, in order. Leaves out repeated touches of the same page,
    /// since the page cannot have been evicted in between.
    pub fn for_each_touch(&self, trace: &AccessTrace, mut touch: impl FnMut(usize, usize)) {
        let mut last = None;
        for access in &trace.accesses {
            for page in self.pages_of(access) {
                if last != Some(page) {
                    touch(access.file as usize, page);
                    last = Some(page);
                }
            }
        }
    }

    /// The pages in the order of their first touches, each with its file.
    pub fn first_touches(&self, trace: &AccessTrace) -> Vec<(usize, usize)> {
        let mut seen = vec![false; self.pages];
        let mut order = Vec::new();
        self.for_each_touch(trace, |file, page| {
            if let Some(seen) = seen.get_mut(page).filter(|seen| !**seen) {
                *seen = true;
                order.push((file, page));
            }
        });
        order
    }
}

/// The median of `values`; the lower of the two in the middle.
fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The pages of the files of one role.
#[derive(Debug, Default)]
struct RoleTally {
    result: FilePages,
    runs: Vec<u64>,
    gaps: Vec<u64>,
    jumps: Vec<u64>,
}

/// The touched pages of a trace, by role of the files.
pub fn file_pages(trace: &AccessTrace) -> Vec<FilePages> {
    let space = PageSpace::new(trace);
    let mut tallies: BTreeMap<FileRole, RoleTally> = BTreeMap::new();
    for file in space.files() {
        let tally = tallies.entry(file.role).or_default();
        tally.result.files += 1;
        tally.result.pages += file.pages.len() as u64;
    }
    count_steps(&space, trace, &mut tallies);
    let order = space.first_touches(trace);
    count_first_touches(&space, &order, &mut tallies);
    count_runs(&space, &order, &mut tallies);
    tallies.into_iter().map(|(role, tally)| tally.finish(role)).collect()
}

impl RoleTally {
    fn finish(mut self, role: FileRole) -> FilePages {
        FilePages {
            role: role_name(role).to_owned(),
            runs: self.runs.len() as u64,
            longest_run: self.runs.iter().copied().max().unwrap_or(0),
            median_run: median(&mut self.runs).unwrap_or(0),
            median_gap: median(&mut self.gaps),
            first_touches: FirstTouches { median_jump: median(&mut self.jumps), ..self.result.first_touches },
            ..self.result
        }
    }
}

fn count_steps(space: &PageSpace, trace: &AccessTrace, tallies: &mut BTreeMap<FileRole, RoleTally>) {
    let mut last_of_file = vec![None; space.files().len()];
    space.for_each_touch(trace, |file, page| {
        let (Some(extent), Some(last)) = (space.files().get(file), last_of_file.get_mut(file)) else { return };
        let step = last.replace(page).filter(|last| *last != page);
        if let Some(last) = step {
            let tally = tallies.entry(extent.role).or_default();
            tally.result.steps += 1;
            tally.result.forward_steps += u64::from(page > last);
        }
    });
}

fn count_first_touches(space: &PageSpace, order: &[(usize, usize)], tallies: &mut BTreeMap<FileRole, RoleTally>) {
    let mut last_of_file: Vec<Option<usize>> = vec![None; space.files().len()];
    for (file, page) in order {
        let (Some(extent), Some(last)) = (space.files().get(*file), last_of_file.get_mut(*file)) else { continue };
        let tally = tallies.entry(extent.role).or_default();
        tally.result.touched += 1;
        let Some(last) = last.replace(*page) else { continue };
        let touches = &mut tally.result.first_touches;
        if *page == last + 1 {
            touches.next += 1;
            continue;
        }
        *(if *page > last { &mut touches.ahead } else { &mut touches.back }) += 1;
        tally.jumps.push(page.abs_diff(last) as u64);
    }
}

fn count_runs(space: &PageSpace, order: &[(usize, usize)], tallies: &mut BTreeMap<FileRole, RoleTally>) {
    let mut is_touched = vec![false; space.len()];
    for (_, page) in order {
        if let Some(is_touched) = is_touched.get_mut(*page) {
            *is_touched = true;
        }
    }
    for file in space.files() {
        let tally = tallies.entry(file.role).or_default();
        let pages = is_touched.get(file.pages.clone()).unwrap_or_default();
        let mut is_first = true;
        let mut untouched = 0;
        for stretch in pages.chunk_by(|left, right| left == right) {
            if stretch.first() == Some(&false) {
                untouched = stretch.len() as u64;
                continue;
            }
            if !is_first {
                tally.gaps.push(untouched);
            }
            is_first = false;
            tally.runs.push(stretch.len() as u64);
        }
    }
}

/// What was read, by kind of object and by purpose.
pub fn parts(trace: &AccessTrace) -> Vec<PartAccesses> {
    let space = PageSpace::new(trace);
    // A bit for each purpose for which the page was touched.
    let mut touched_by = vec![0u32; space.len()];
    let mut parts: Vec<(Purpose, PartAccesses)> = Vec::new();
    for access in &trace.accesses {
        let at = place_of(&mut parts, Purpose::of(trace, access));
        if let Some((_, part)) = parts.get_mut(at) {
            part.accesses += 1;
            part.bytes += access.len;
            for touched_by in touched_by.get_mut(space.pages_of(access)).unwrap_or_default() {
                part.pages += u64::from(*touched_by & 1 << at == 0);
                *touched_by |= 1 << at;
            }
        }
    }
    for decode in &trace.decodes {
        let at = place_of(&mut parts, Purpose::Chunk(decode.kind));
        if let Some((_, part)) = parts.get_mut(at) {
            part.decodes += 1;
        }
    }
    parts.sort_by_key(|(purpose, _)| *purpose);
    parts.into_iter().map(|(purpose, part)| PartAccesses { part: purpose.name(), ..part }).collect()
}

/// The purpose of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    Opening,
    LookUp,
    RevlogIndex,
    Chunk(ChunkKind),
    Headers,
    LooseObject,
    External,
    Gap,
}

impl Purpose {
    fn of(trace: &AccessTrace, access: &Access) -> Self {
        match (access.part, access.kind) {
            (AccessPart::Opening, _) => Purpose::Opening,
            (AccessPart::LookUp, _) => Purpose::LookUp,
            (AccessPart::RevlogIndex, _) => Purpose::RevlogIndex,
            (AccessPart::Gap, _) => Purpose::Gap,
            (AccessPart::EntryHeader | AccessPart::Chunk, Some(kind)) => Purpose::Chunk(kind),
            (AccessPart::EntryHeader, None) => Purpose::Headers,
            (AccessPart::Chunk, None) => match trace.files.get(access.file as usize).map(|file| file.role) {
                Some(FileRole::External) => Purpose::External,
                _ => Purpose::LooseObject,
            },
        }
    }

    fn name(self) -> String {
        match self {
            Purpose::Opening => "opening".to_owned(),
            Purpose::LookUp => "index look-ups".to_owned(),
            Purpose::RevlogIndex => "revlog indexes".to_owned(),
            Purpose::Chunk(ChunkKind { object, is_delta: false }) => object.name().to_owned(),
            Purpose::Chunk(ChunkKind { object, is_delta: true }) => format!("{object} delta"),
            Purpose::Headers => "entry headers".to_owned(),
            Purpose::LooseObject => "loose objects".to_owned(),
            Purpose::External => "content stored elsewhere".to_owned(),
            Purpose::Gap => "gaps between chunks".to_owned(),
        }
    }
}

/// The index in `parts` of `purpose`. There are fewer than 32 purposes.
fn place_of(parts: &mut Vec<(Purpose, PartAccesses)>, purpose: Purpose) -> usize {
    parts.iter().position(|(known, _)| *known == purpose).unwrap_or_else(|| {
        parts.push((purpose, PartAccesses::default()));
        parts.len() - 1
    })
}

/// The name of a role in records.
pub fn role_name(role: FileRole) -> &'static str {
    match role {
        FileRole::Pack => "pack",
        FileRole::PackIndex => "pack index",
        FileRole::Btree => "b-tree",
        FileRole::LooseObject => "loose object",
        FileRole::RevlogIndex => "revlog index",
        FileRole::RevlogData => "revlog data",
        FileRole::External => "external",
    }
}

/// All purposes fit into the bits of [`parts`].
const _: () = assert!(2 * (ObjectKind::GIT.len() + ObjectKind::HG.len()) + 7 < u32::BITS as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::{chunk, trace};

    #[test]
    fn accesses_touch_the_pages_of_their_range() {
        let trace = trace(&[10 * PAGE_LEN, PAGE_LEN + 1], vec![]);
        let space = PageSpace::new(&trace);
        assert_eq!(space.len(), 14);
        for (file, offset, len, pages) in [
            (0, 0, 1, 0..1),
            (0, 4095, 1, 0..1),
            (0, 4095, 2, 0..2),
            (0, 4096, 4096, 1..2),
            (1, 0, 4097, 11..13),
            (1, 0, 0, 0..0),
            (1, 4096, 1 << 40, 12..13),
            (9, 0, 1, 0..0),
        ] {
            assert_eq!(space.pages_of(&chunk(file, offset, len)), pages, "{file} {offset} {len}");
        }
    }

    #[test]
    fn runs_gaps_and_steps_match_a_hand_worked_trace() {
        let page = |page: u64| chunk(0, page * PAGE_LEN, PAGE_LEN);
        // Touched: 0 1 2, 5, 9. First touches: 1, 2 (next), 0 (back by 2), 5 (ahead by 5), 9 (ahead by 4).
        let trace =
            trace(&[12 * PAGE_LEN, 4 * PAGE_LEN], vec![page(1), page(2), page(2), page(0), page(5), page(1), page(9)]);
        let files = file_pages(&trace);
        let [pack] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!((pack.files, pack.pages, pack.touched), (2, 16, 5));
        assert_eq!((pack.runs, pack.median_run, pack.longest_run, pack.median_gap), (3, 1, 3, Some(2)));
        assert_eq!((pack.steps, pack.forward_steps), (5, 3), "1-2, 2-0, 0-5, 5-1, 1-9");
        let expected = FirstTouches { next: 1, ahead: 2, back: 1, median_jump: Some(4) };
        assert_eq!(pack.first_touches, expected);
    }

    #[test]
    fn pages_count_once_for_each_purpose() {
        let mut accesses = vec![chunk(0, 0, 10), chunk(0, 20, 10), chunk(0, 4090, 10)];
        accesses[2].kind = Some(ChunkKind { object: ObjectKind::Tree, is_delta: true });
        accesses.push(Access { part: AccessPart::LookUp, kind: None, ..chunk(1, 0, 20) });
        let parts = parts(&trace(&[2 * PAGE_LEN, PAGE_LEN], accesses));
        let shown: Vec<_> =
            parts.iter().map(|part| (part.part.as_str(), part.accesses, part.bytes, part.pages)).collect();
        assert_eq!(shown, [("index look-ups", 1, 20, 1), ("tree delta", 1, 10, 2), ("blob", 2, 20, 1)]);
    }
}
