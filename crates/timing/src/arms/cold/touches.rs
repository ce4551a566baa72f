//! The time of the first touch of each page when nothing is in memory.
//!
//! The pages of a trace are touched in the order of first touches, through maps of the files, as the reader reads packs
//! and their indexes. So each touch costs what it costs a workload, without the work in between. The kernel's readahead
//! is on.

use std::{io, path::Path, time::Duration};

use repackbench_analysis::median_duration;
use repackbench_pagecache::{MappedFile, Residency, residency};
use repackbench_reader::AccessTrace;

use super::{ColdError, io_error, make_cold};
use crate::{
    clock::Clock,
    probe::Faults,
    trace::pages::{PAGE_LEN, PageSpace},
};

/// What the kernel had to do for a touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageFault {
    /// Nothing: the page was mapped together with a neighbour.
    None,
    /// Map a page that was in memory, or about to be.
    Minor,
    /// Read the page.
    Major,
}

/// The first touch of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstTouch {
    /// The index of the file in [`AccessTrace::files`].
    pub file: usize,
    /// The number of the page in the file, from 0.
    pub page: u64,
    /// How long it took.
    pub time: Duration,
    /// What the kernel had to do.
    pub fault: PageFault,
}

/// The first touches of a cold copy.
#[derive(Debug, Clone, Default)]
pub struct FirstTouches {
    /// The touches in order, without those of files that are not read through a map.
    pub touches: Vec<FirstTouch>,
    /// The resident pages of each file of the trace at the end; `None` for files that were left out.
    pub resident: Vec<Option<Residency>>,
    /// The median time of touching the last page again, which is mostly the time of reading the clock.
    pub again: Duration,
}

/// The number of times that a page is touched again.
const TOUCHES_AGAIN: usize = 1001;

/// Evicts `copy`, a copy of the repository in the folder `traced`, and touches each page of a mapped file that `trace`
/// of that repository touches, in the order of first touches.
///
/// # Errors
/// The copy does not become cold, or a file of the trace is not in it.
pub fn touch_pages(
    traced: &Path,
    copy: &Path,
    trace: &AccessTrace,
    clock: &dyn Clock,
) -> Result<FirstTouches, ColdError> {
    let space = PageSpace::new(trace);
    let order = space.first_touches(trace);
    let mut paths = Vec::with_capacity(trace.files.len());
    for file in &trace.files {
        // Files elsewhere are not in the copy, and would not be cold.
        let below = file.path.strip_prefix(traced).map_err(|_| {
            let why = "it reads files elsewhere";
            ColdError::NotOneFolder { path: traced.to_owned(), why }
        })?;
        paths.push(file.role.is_mapped().then(|| copy.join(below)));
    }
    make_cold(copy)?;
    let mut files = Vec::with_capacity(paths.len());
    for path in &paths {
        let open = |path| MappedFile::open(path).map_err(io_error("map", path));
        files.push(path.as_deref().map(open).transpose()?);
    }
    let mut touches = Vec::with_capacity(order.len());
    for (number, page) in order {
        let (Some(Some(file)), Some(Some(path)), Some(extent)) =
            (files.get(number), paths.get(number), space.files().get(number))
        else {
            continue;
        };
        let page = (page - extent.pages.start) as u64;
        let touched = time_touch(file, page, clock).map_err(io_error("read", path))?;
        touches.push(FirstTouch { file: number, ..touched });
    }
    let again = time_again(&files, &touches, clock).map_err(io_error("read", copy))?;
    let look = |path: &Option<_>| {
        let path: &std::path::PathBuf = path.as_ref()?;
        Some(residency(path).map_err(io_error("inspect the pages of", path)))
    };
    let resident = paths.iter().map(|path| look(path).transpose()).collect::<Result<_, _>>()?;
    Ok(FirstTouches { touches, resident, again })
}

/// The median time of touching the last page again, which is mapped.
fn time_again(files: &[Option<MappedFile>], touches: &[FirstTouch], clock: &dyn Clock) -> io::Result<Duration> {
    let last = touches.last().and_then(|last| Some((files.get(last.file)?.as_ref()?, last.page)));
    let Some((file, page)) = last else { return Ok(Duration::ZERO) };
    let mut times = Vec::with_capacity(TOUCHES_AGAIN);
    for _ in 0..TOUCHES_AGAIN {
        times.push(time_touch(file, page, clock)?.time);
    }
    Ok(median_duration(&mut times).unwrap_or_default())
}

/// Touches a page and times it. Counting faults is not timed.
fn time_touch(file: &MappedFile, page: u64, clock: &dyn Clock) -> io::Result<FirstTouch> {
    let before = Faults::now();
    let start = clock.read_wall()?;
    file.touch(page * PAGE_LEN)?;
    let time = clock.read_wall()?.saturating_sub(start);
    let used = before.until(Faults::now());
    let fault = match (used.major_faults, used.minor_faults) {
        (Some(1..), _) => PageFault::Major,
        (_, Some(1..)) => PageFault::Minor,
        _ => PageFault::None,
    };
    Ok(FirstTouch { file: 0, page, time, fault })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use repackbench_reader::FileRole;

    use super::*;
    use crate::{
        clock::SystemClock,
        trace::tests::{chunk, trace},
    };

    #[test]
    fn pages_are_touched_once_in_order_of_first_touches() {
        // On a disk: files in memory cannot be evicted.
        let scratch = crate::on_disk::folder();
        let (traced, copy) = (scratch.path().join("traced"), scratch.path().join("copy"));
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("pack"), vec![3; 20 * PAGE_LEN as usize]).unwrap();
        fs::write(copy.join("loose"), vec![3; 10]).unwrap();
        let at = |page: u64| chunk(0, page * PAGE_LEN, 1);
        let mut trace = trace(&[20 * PAGE_LEN, 10], vec![at(9), at(4), chunk(1, 0, 10), at(9), at(5)]);
        trace.files[0].path = traced.join("pack");
        trace.files[1] =
            repackbench_reader::TracedFile { path: traced.join("loose"), len: 10, role: FileRole::LooseObject };
        let touched = touch_pages(&traced, &copy, &trace, &SystemClock::new()).unwrap();
        let pages: Vec<(usize, u64)> = touched.touches.iter().map(|touch| (touch.file, touch.page)).collect();
        assert_eq!(pages, [(0, 9), (0, 4), (0, 5)]);
        assert_eq!(touched.touches[0].fault, PageFault::Major, "nothing was in memory");
        let [Some(pack), None] = touched.resident.as_slice() else { panic!("{:?}", touched.resident) };
        assert!(pack.pages == 20 && pack.resident > 0, "{pack:?}");
    }

    #[test]
    fn files_outside_the_repository_are_refused() {
        let scratch = crate::on_disk::folder();
        let trace = trace(&[PAGE_LEN], vec![chunk(0, 0, 1)]);
        let clock = SystemClock::new();
        let error = touch_pages(Path::new("/repository"), scratch.path(), &trace, &clock).unwrap_err();
        assert!(error.to_string().contains("it reads files elsewhere"), "{error}");
    }
}
