//! All that was measured, and the figures that tables, claims and notes share.

use repackbench_reader::{AccessTrace, FileRole};
use repackbench_records::{Published, Statement};
use repackbench_timing::trace::Device;

use super::{
    arms::{CHECKOUT, Jobs, REPACKED, VariantArm},
    figures::{OrderGain, RoleFigures, TreePlaces},
    history::MostChanged,
    lookups::Folders,
    nominal::NominalClock,
    published::PublishedLines,
    rounds::Measured,
};

/// All that was measured.
pub(super) struct Findings<'a> {
    pub(super) published: &'a Published,
    /// The first one is in the source's order.
    pub(super) arms: &'a [VariantArm],
    /// The arm with a file for each object.
    pub(super) loose: Option<usize>,
    pub(super) jobs: &'a Jobs,
    pub(super) folders: &'a Folders,
    pub(super) checkout: &'a AccessTrace,
    /// Only the trees of the checkout, as was published.
    pub(super) trees: &'a AccessTrace,
    pub(super) measured: &'a Measured,
    pub(super) clock: Option<NominalClock>,
    /// How far the kernel reads ahead on the file system of the copies, in bytes.
    pub(super) readahead: Option<u64>,
    /// The revision, if the user named one.
    pub(super) revision: Option<&'a str>,
    /// The layouts that could not be made.
    pub(super) left_out: &'a [Statement],
    /// The file whose history is read.
    pub(super) most_changed: Option<&'a MostChanged>,
}

impl Findings<'_> {
    /// The figures of reading only the trees.
    pub(super) fn of_trees(&self, role: FileRole) -> RoleFigures {
        RoleFigures::of(role, self.trees, &self.measured.tree_touches, self.lines("index").len())
    }

    /// The figures of the checkout with its files.
    pub(super) fn of_checkout(&self, role: FileRole) -> RoleFigures {
        RoleFigures::of(role, self.checkout, &self.measured.touches, self.lines("index").len())
    }

    pub(super) fn lines(&self, table: &str) -> PublishedLines {
        PublishedLines::of(self.published, table)
    }

    pub(super) fn hertz(&self) -> Option<f64> {
        self.clock.as_ref().map(|clock| clock.hertz)
    }

    pub(super) fn published_hits(&self) -> Option<f64> {
        self.published.claim("read-ahead")?.value
    }

    /// The other orders that `is_wanted`, each compared with the source's by the time of `job`.
    pub(super) fn gains(&self, job: usize, is_wanted: impl Fn(&VariantArm) -> bool) -> Vec<OrderGain> {
        let disk = Device::hdd();
        let modelled = |arm: &VariantArm| Some(disk.replay(&arm.reads.get(job)?.trace, usize::MAX).time.as_secs_f64());
        let source = self.arms.first().and_then(modelled);
        // A pack that git has repacked differs in its deltas, too.
        let is_order = |(number, arm): &(usize, &VariantArm)| Some(*number) != self.loose && arm.label != REPACKED;
        let gain = |(number, arm): (usize, &VariantArm)| {
            Some(OrderGain {
                label: arm.label.clone(),
                trees: TreePlaces::of(&arm.reads.get(CHECKOUT)?.trace),
                modelled: modelled(arm)? / source?,
                measured: self.measured.cold_ratio(number, job),
            })
        };
        let others = self.arms.iter().enumerate().skip(1).filter(is_order);
        others.filter(|(_, arm)| is_wanted(arm)).filter_map(gain).collect()
    }
}
