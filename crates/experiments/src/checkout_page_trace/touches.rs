//! The order of first touches, and which of them had to wait for the device.

use std::{collections::HashMap, ops::AddAssign};

use repackbench_analysis::median;
use repackbench_timing::arms::cold::touches::{FirstTouch, PageFault};

/// First touches of pages, each compared with the one before it in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TouchOrder {
    /// Pages that were touched.
    pub(super) touched: u64,
    /// Pages from the first to the last of them in their file.
    pub(super) spanned: u64,
    /// Steps to the very next page.
    pub(super) next: u64,
    /// Steps to a later page than that.
    pub(super) ahead: u64,
    /// Steps to an earlier page.
    pub(super) back: u64,
}

impl TouchOrder {
    /// The order of the pages of one file.
    pub(super) fn of(pages: &[u64]) -> Self {
        let mut order = TouchOrder { touched: pages.len() as u64, ..TouchOrder::default() };
        if let (Some(first), Some(last)) = (pages.iter().min(), pages.iter().max()) {
            order.spanned = last - first + 1;
        }
        for (page, following) in pages.iter().zip(pages.iter().skip(1)) {
            *match following {
                _ if *following == page + 1 => &mut order.next,
                _ if following > page => &mut order.ahead,
                _ => &mut order.back,
            } += 1;
        }
        order
    }

    pub(super) fn steps(self) -> u64 {
        self.next + self.ahead + self.back
    }

    /// The share of steps that go forward.
    pub(super) fn forward(self) -> Option<f64> {
        share(self.next + self.ahead, self.steps())
    }

    /// The share of steps to the very next page.
    pub(super) fn to_the_next(self) -> Option<f64> {
        share(self.next, self.steps())
    }

    /// The share of steps that go back.
    pub(super) fn backward(self) -> Option<f64> {
        share(self.back, self.steps())
    }

    /// The share of touched pages among those from the first to the last.
    pub(super) fn density(self) -> Option<f64> {
        share(self.touched, self.spanned)
    }
}

impl AddAssign for TouchOrder {
    fn add_assign(&mut self, other: TouchOrder) {
        self.touched += other.touched;
        self.spanned += other.spanned;
        self.next += other.next;
        self.ahead += other.ahead;
        self.back += other.back;
    }
}

/// `part` of `whole`; `None` if `whole` is 0.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The touches that had to wait for the device, and those that did not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Modes {
    /// A touch is a hit if it costs less, in the unit of the costs.
    pub(super) threshold: f64,
    /// The median of the hits that took a page fault.
    pub(super) hit: f64,
    /// The median of the misses.
    pub(super) miss: f64,
    /// The number of hits, including those that took no fault.
    pub(super) hits: u64,
    /// The number of misses.
    pub(super) misses: u64,
}

impl Modes {
    /// The share of hits.
    pub(super) fn hit_share(self) -> Option<f64> {
        share(self.hits, self.hits + self.misses)
    }

    /// Divides `touches` by their cost in seconds. The threshold is half-way, on a logarithmic scale, between the
    /// medians of two modes: the faults that the kernel counts as minor, and those that it counts as major. A minor
    /// fault on a page that is still on its way into memory also waits for the device, and is a miss by its cost.
    ///
    /// `None` if one of the modes is empty, or if minor faults cost more than major ones.
    pub(super) fn of(touches: &[FirstTouch]) -> Option<Self> {
        let costs = |fault| touches.iter().filter(move |touch| touch.fault == fault).map(seconds);
        let mut minor: Vec<f64> = costs(PageFault::Minor).collect();
        if minor.is_empty() {
            minor.extend(costs(PageFault::None));
        }
        let mut major: Vec<f64> = costs(PageFault::Major).collect();
        let (low, high) = (median(&mut minor)?, median(&mut major)?);
        if low >= high {
            return None;
        }
        let threshold = (low * high).sqrt();
        let (hits, misses): (Vec<&FirstTouch>, _) = touches.iter().partition(|touch| seconds(touch) < threshold);
        let mut faulted: Vec<f64> =
            hits.iter().filter(|touch| touch.fault != PageFault::None).map(|touch| seconds(touch)).collect();
        let mut missed: Vec<f64> = misses.into_iter().map(seconds).collect();
        Some(Modes {
            threshold,
            hit: median(&mut faulted).unwrap_or(low),
            miss: median(&mut missed)?,
            hits: hits.len() as u64,
            misses: missed.len() as u64,
        })
    }

    /// Divides costs without knowledge of faults: at the widest gap between them, on a logarithmic scale. `None` for
    /// fewer than two different costs.
    pub(super) fn at_the_widest_gap(costs: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = costs.iter().copied().filter(|cost| *cost > 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let gaps = sorted.iter().zip(sorted.iter().skip(1)).enumerate();
        let (at, (below, above)) =
            gaps.max_by(|(_, (a, b)), (_, (c, d))| (**b / **a).total_cmp(&(**d / **c))).filter(|(_, (a, b))| a < b)?;
        let threshold = (below * above).sqrt();
        let (hits, misses) = sorted.split_at_mut(at + 1);
        Some(Modes {
            threshold,
            hit: median(hits)?,
            miss: median(misses)?,
            hits: hits.len() as u64,
            misses: misses.len() as u64,
        })
    }
}

fn seconds(touch: &FirstTouch) -> f64 {
    touch.time.as_secs_f64()
}

/// The number of misses that do not follow a touch of the page before them in the same file.
pub(super) fn misses_after_a_jump(touches: &[FirstTouch], threshold: f64) -> u64 {
    let mut last_page = HashMap::new();
    let is_jump =
        |touch: &&FirstTouch| last_page.insert(touch.file, touch.page).is_none_or(|last| touch.page != last + 1);
    touches.iter().filter(is_jump).filter(|touch| seconds(touch) >= threshold).count() as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn touch(page: u64, microseconds: u64, fault: PageFault) -> FirstTouch {
        FirstTouch { file: 0, page, time: Duration::from_micros(microseconds), fault }
    }

    #[test]
    fn steps_match_a_list_worked_by_hand() {
        let order = TouchOrder::of(&[10, 11, 15, 12, 13, 19]);
        assert_eq!(order, TouchOrder { touched: 6, spanned: 10, next: 2, ahead: 2, back: 1 });
        assert_eq!((order.forward(), order.to_the_next(), order.backward()), (Some(0.8), Some(0.4), Some(0.2)));
        assert_eq!(order.density(), Some(0.6));
        let alone = TouchOrder::of(&[7]);
        assert_eq!((alone.forward(), alone.density()), (None, Some(1.0)));
        assert_eq!(TouchOrder::of(&[]).density(), None);
    }

    #[test]
    fn threshold_is_between_minor_and_major_faults() {
        use PageFault::{Major, Minor, None};
        let touches = [
            touch(1, 1000, Major),
            touch(2, 1, Minor),
            touch(3, 4, Minor),
            touch(4, 1, Minor),
            touch(5, 0, None),
            // On its way into memory.
            touch(9, 500, Minor),
            touch(10, 900, Major),
            touch(30, 1100, Major),
        ];
        let modes = Modes::of(&touches).unwrap();
        // Medians: minor 2.5 us (1, 1, 4, 500), major 1000 us: 50 us is half-way.
        assert!((modes.threshold - 50e-6).abs() < 1e-9, "{modes:?}");
        assert_eq!((modes.hits, modes.misses), (4, 4));
        assert!((modes.hit - 1e-6).abs() < 1e-12 && (modes.miss - 950e-6).abs() < 1e-9, "{modes:?}");
        assert_eq!(modes.hit_share(), Some(0.5));
        assert_eq!(misses_after_a_jump(&touches, modes.threshold), 3, "of 4: page 10 follows page 9");
    }

    #[test]
    fn a_single_mode_is_not_divided() {
        use PageFault::{Major, Minor};
        assert_eq!(Modes::of(&[touch(1, 5, Minor), touch(2, 6, Minor)]), None);
        assert_eq!(Modes::of(&[touch(1, 5, Major)]), None);
        assert_eq!(Modes::of(&[touch(1, 5, Major), touch(2, 6, Minor)]), None, "minor faults cost more");
        assert_eq!(Modes::of(&[]), None);
    }

    #[test]
    fn costs_without_faults_divide_at_the_widest_gap() {
        let modes = Modes::at_the_widest_gap(&[400.0, 2e6, 100.0, 200.0, 8e6]).unwrap();
        assert_eq!((modes.hits, modes.misses, modes.hit, modes.miss), (3, 2, 200.0, 5e6));
        assert!((modes.threshold - (400.0_f64 * 2e6).sqrt()).abs() < 1e-6);
        assert_eq!(Modes::at_the_widest_gap(&[7.0, 7.0]), None);
        assert_eq!(Modes::at_the_widest_gap(&[7.0]), None);
    }
}
