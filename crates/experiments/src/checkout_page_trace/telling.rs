//! What is told of the results: tables, claims, differences and notes.

use repackbench_analysis::median;
use repackbench_reader::{AccessTrace, FileRole};
use repackbench_records::{ClaimOutcome, Estimate, ExperimentTable, Published};
use repackbench_timing::trace::{Device, pages::file_pages};
use repackbench_writer::{Layout, Order};

use super::{
    arms::{Arm, CHECKOUT, Jobs, REPACKED, SPEC, TREES},
    figures::{self, PAGE_KIB, RoleFigures},
    history::MostChanged,
    nominal::NominalClock,
    opens::Folders,
    rounds::Measured,
    samples,
    shares::{self, TouchOrder},
    tables::{self, PublishedLines},
    verdicts::{self, OrderGain},
};
use crate::{
    text::{self, count, seconds, share as percent},
    verdict::{Judgement, outcomes},
};

/// Everything that is told of.
pub(super) struct Results<'a> {
    pub(super) published: &'a Published,
    pub(super) arms: &'a [Arm],
    pub(super) loose: Option<usize>,
    pub(super) jobs: &'a Jobs,
    pub(super) folders: &'a Folders,
    pub(super) checkout: &'a AccessTrace,
    /// Its trees alone, which is what was published.
    pub(super) trees: &'a AccessTrace,
    pub(super) measured: &'a Measured,
    pub(super) clock: Option<NominalClock>,
    /// How far the kernel reads ahead where copies lie, in bytes.
    pub(super) readahead: Option<u64>,
    /// The revision, where the user named one.
    pub(super) revision: Option<&'a str>,
    /// What could not be made, a sentence each.
    pub(super) left_out: &'a [String],
    /// The file whose history is read.
    pub(super) most_changed: Option<&'a MostChanged>,
}

impl Results<'_> {
    /// What reading the trees comes to.
    fn role(&self, role: FileRole) -> RoleFigures {
        let lines = self.lines("index").len();
        RoleFigures::of(role, self.trees, &self.measured.tree_touches, lines)
    }

    /// What the whole checkout comes to.
    fn role_of_all(&self, role: FileRole) -> RoleFigures {
        let lines = self.lines("index").len();
        RoleFigures::of(role, self.checkout, &self.measured.touches, lines)
    }

    fn lines(&self, table: &str) -> PublishedLines {
        PublishedLines::of(self.published, table)
    }

    fn hertz(&self) -> Option<f64> {
        self.clock.as_ref().map(|clock| clock.hertz)
    }

    fn published_hits(&self) -> Option<f64> {
        self.published.claim("read-ahead")?.value
    }

    /// What has a published figure beside it, or is held against a first row.
    pub(super) fn tables(&self) -> Vec<ExperimentTable> {
        let mut tables = Vec::new();
        let (pack, index) = (self.lines("pack"), self.lines("index"));
        if !self.measured.touches.is_empty() {
            let rows = [
                ("pack, trees alone", self.role(FileRole::Pack), Some((&pack, self.published_hits()))),
                ("index, trees alone", self.role(FileRole::PackIndex), Some((&index, None))),
                ("pack", self.role_of_all(FileRole::Pack), None),
                ("index", self.role_of_all(FileRole::PackIndex), None),
            ];
            tables.push(tables::first_touches(&rows, self.hertz()));
        }
        if self.measured.machine.is_cold.is_some() {
            tables.push(tables::opens(self.measured, self.arms, self.loose));
        }
        if !self.measured.cold.is_empty() {
            tables.push(tables::cold(self.jobs, self.arms, self.measured));
        }
        tables
    }

    /// What is read line by line.
    pub(super) fn listings(&self) -> Vec<ExperimentTable> {
        let devices = Device::defaults();
        let mut listings = self.excerpts(&Device::hdd());
        for job in 0..self.jobs.len() {
            listings.push(tables::orders(job, self.jobs, self.arms, self.measured, &devices));
        }
        listings.push(tables::trees(self.arms));
        listings.push(tables::sizes(self.arms));
        listings
    }

    /// The first lines of the first round beside the published ones, and the last ones of the index.
    fn excerpts(&self, device: &Device) -> Vec<ExperimentTable> {
        let Some(round) = self.measured.tree_touches.first() else { return Vec::new() };
        let excerpt = |title: &str, table: &str, role: FileRole, is_end: bool| {
            let published = self.lines(table);
            let all = figures::lines(role, self.trees, round, device);
            let length = published.len().min(all.len());
            let here = if is_end { all.get(all.len() - length..) } else { all.get(..length) };
            tables::line_by_line(title, &published, here.unwrap_or_default(), self.hertz(), device)
        };
        vec![
            excerpt("The pack's first touches, line by line", "pack", FileRole::Pack, false),
            excerpt("The index's first touches, line by line", "index", FileRole::PackIndex, false),
            excerpt("The index's first touches at the end", "index at the end", FileRole::PackIndex, true),
        ]
    }

    pub(super) fn claims(&self) -> Vec<ClaimOutcome> {
        let (pack, index) = (self.role(FileRole::Pack), self.role(FileRole::PackIndex));
        let machine = &self.measured.machine;
        let opens = machine.opens.get(&0).map(|opens| &opens.times.first);
        let opens_of_all =
            opens.zip(machine.checkout.get(&0)).and_then(|(opens, all)| samples::ratio(opens, &all.first));
        let opens = opens.and_then(|opens| samples::ratio(opens, &machine.trees.first));
        let then = self.lines("pack");
        let touched = shares::share(index.order.touched, index.pages);
        let hits = samples::shares(&pack.hits);
        let resident = samples::shares(&index.resident);
        let loose = self.loose_beside_pack();
        let rounds = |found: &Option<Estimate>| found.as_ref().map_or(0, |found| found.samples.len());
        // What is measured rests on rounds; what is counted in a trace does not.
        let measured: [(&str, Judgement, usize); 5] = [
            (
                "gitignore",
                verdicts::gitignore(opens.as_ref(), opens_of_all.as_ref(), machine.is_cold, self.folders.len()),
                rounds(&opens),
            ),
            (
                "read-ahead",
                verdicts::read_ahead(hits.as_ref(), self.published_hits(), self.readahead, &self.hits_beside()),
                rounds(&hits),
            ),
            (
                "hit-cost",
                verdicts::hit_cost(
                    median_modes(&pack),
                    self.hertz(),
                    then.modes(),
                    tables::claimed_costs(self.published),
                ),
                pack.hit.len(),
            ),
            ("independent-files", self.independent_files(loose.as_ref()), rounds(&loose)),
            ("index-cached", verdicts::index_cached(resident.as_ref(), touched), rounds(&resident)),
        ];
        let counted: [(&str, Judgement); 3] = [
            ("ordered", verdicts::ordered(pack.order, &self.other_orders())),
            ("index-random", verdicts::index_random(index.beginning)),
            ("order-could-be-better", self.order_could_be_better()),
        ];
        let mut findings: Vec<(&str, Judgement)> =
            measured.into_iter().map(|(id, found, rounds)| (id, verdicts::of_rounds(rounds, found))).collect();
        findings.extend(counted);
        // In the order in which they were published.
        findings.sort_by_key(|(id, _)| self.published.claims.iter().position(|claim| claim.id == *id));
        outcomes(self.published, findings)
    }

    /// The order in which trees are touched in packs as git would write them, and in which all that is checked out is.
    fn other_orders(&self) -> Vec<(&'static str, TouchOrder)> {
        let order = |arm: &Arm| tables::store_order(&file_pages(&arm.reads.get(TREES)?.trace));
        let described = |arm: &Arm| match arm {
            Arm { label, .. } if label == REPACKED => Some("In a pack that git has written anew"),
            Arm { layout, .. } if *layout == Layout::in_order(Order::Recency) => {
                Some("In a pack of the same entries in the order that git would give them now")
            }
            _ => None,
        };
        let rewritten = self.arms.iter().filter_map(|arm| Some((described(arm)?, order(arm)?)));
        rewritten.chain([("Of all that is checked out, files too", self.role_of_all(FileRole::Pack).order)]).collect()
    }

    /// Other shares of hits, each with what it is.
    fn hits_beside(&self) -> Vec<(String, f64)> {
        let disk = Device::hdd();
        let modelled = figures::modelled_hits(FileRole::Pack, self.trees, &disk);
        let of_all = samples::shares(&self.role_of_all(FileRole::Pack).hits);
        let kibibytes = disk.readahead >> 10;
        [
            (format!("With {kibibytes} KiB the model comes to"), modelled),
            ("Of all that is checked out, files too, it is".to_owned(), of_all.map(|all| all.value)),
        ]
        .into_iter()
        .filter_map(|(what, share)| Some((what, share?)))
        .collect()
    }

    /// The checkout from loose objects, as a multiple of that from the pack.
    fn loose_beside_pack(&self) -> Option<Estimate> {
        let checkout = &self.measured.machine.checkout;
        samples::ratio(&checkout.get(&self.loose?)?.first, &checkout.get(&0)?.first)
    }

    fn independent_files(&self, times: Option<&Estimate>) -> Judgement {
        let pages = |arm: Option<usize>| {
            let reads = arm.and_then(|arm| self.arms.get(arm)?.reads.get(CHECKOUT));
            reads.map_or(0, |reads| file_pages(&reads.trace).iter().map(|pages| pages.touched).sum())
        };
        let files = self.loose.and_then(|loose| self.arms.get(loose)).map_or(0, |arm| arm.loose_files(CHECKOUT));
        verdicts::independent_files(times, [pages(Some(0)), pages(self.loose)], files, self.measured.machine.is_cold)
    }

    fn order_could_be_better(&self) -> Judgement {
        let of = |order: Order| {
            let gains = self.gains(TREES).into_iter().filter(move |(arm, _)| arm.layout.order == order);
            gains.map(|(_, gain)| gain).collect::<Vec<OrderGain>>()
        };
        let trees = figures::tree_places(self.checkout);
        verdicts::order_could_be_better(trees, &of(Order::TreesFirst), &of(Order::Recency))
    }

    /// Every order but the source's, held against that, by what `job` takes.
    fn gains(&self, job: usize) -> Vec<(&Arm, OrderGain)> {
        let disk = Device::hdd();
        let modelled = |arm: &Arm| Some(disk.replay(&arm.reads.get(job)?.trace, usize::MAX).time.as_secs_f64());
        let source = self.arms.first().and_then(modelled);
        // What git has repacked has other deltas, too.
        let is_order = |(number, arm): &(usize, &Arm)| Some(*number) != self.loose && arm.label != REPACKED;
        let gain = |(number, arm): (usize, &Arm)| {
            let cold = &self.measured.cold;
            let measured = cold.get(&(number, job)).zip(cold.get(&(0, job)));
            let time = modelled(arm)?;
            Some(OrderGain {
                label: arm.label.clone(),
                trees: figures::tree_places(&arm.reads.get(CHECKOUT)?.trace),
                modelled: time / source?,
                measured: measured.and_then(|(other, source)| samples::ratio(other, source)),
            })
        };
        self.arms
            .iter()
            .enumerate()
            .skip(1)
            .filter(is_order)
            .filter_map(|(number, arm)| Some((arm, gain((number, arm))?)))
            .collect()
    }

    /// The order that the model likes best, whatever it moves.
    fn best_order(&self) -> Option<String> {
        let gains = self.gains(CHECKOUT).into_iter().map(|(_, gain)| gain);
        let best = gains.min_by(|left, right| left.modelled.total_cmp(&right.modelled))?;
        let measured = best
            .measured
            .as_ref()
            .map_or("was not measured".to_owned(), |found| format!("is {} of it", text::estimate(found)));
        Some(format!(
            "Of all orders the model of a hard disk likes {} best for the checkout: {} of the time in the source's order; cold on this device the \
             time {measured}. What it gains is not of the trees alone.",
            best.label,
            percent(best.modelled)
        ))
    }

    pub(super) fn differences(&self) -> Vec<String> {
        let mut differences = vec![
            "Caches of the device, and of a hypervisor where there is one, cannot be emptied, and may answer in place of the disk: each round \
             writes its copies shortly before they are read."
                .to_owned(),
            "Repository, machine, kernel and disk are these; those of 2007 are not named.".to_owned(),
            "The published checkout read trees, and next to no files: held against it is reading the revision's trees alone. The checkout with its \
             files stands beside it, and is what loose objects are held against."
                .to_owned(),
            "The published costs are CPU cycles in the kernel, filling in a page fault. Here they are elapsed time of reading one byte of a \
             map, the clock's own cost included; cycles are that time by the processor's nominal clock."
                .to_owned(),
            "Today's kernels map neighbours in memory along with a page: touches of those take no page fault, and would not stand in a published \
             trace. They are counted as hits, and in a column of their own."
                .to_owned(),
            "Pages are touched one right after another in the order in which this program's reader first touches them, without the \
             work in between; ends of packs, which git reads by calls, are left out."
                .to_owned(),
            "This program's reader computes where in the index an id lies. The index's touches are not those: they are those of git's own \
             search, by fan-out and halving, for the same ids in the same order. Cold and modelled times of whole jobs are of this \
             program's reader."
                .to_owned(),
            format!(
                "The packs hold the same entries as the repository's, compressed as {SPEC} and in new files, since those as found could not be \
                 evicted, or their order changed."
            ),
        ];
        if let Some(readahead) = self.readahead {
            differences.push(format!(
                "The kernel reads {} KiB ahead on this file system; common, in 2007 as today, are 128 KiB. That decides the share of hits.",
                readahead >> 10
            ));
        }
        if let Some(revision) = self.revision {
            differences
                .push(format!("The checkout is of {revision}; the orders checkout and trees-first are made for HEAD."));
        }
        differences
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let pack = self.role(FileRole::Pack);
        if let Some(modes) = median_modes(&pack) {
            notes.push(format!(
                "A touch is a hit below {}, half-way on a logarithmic scale between the medians of the faults that the kernel counts as minor \
                 and as major; pages have {PAGE_KIB} KiB.",
                seconds(modes.threshold)
            ));
        }
        let mut again: Vec<f64> = self.measured.touches.iter().map(|round| round.again.as_secs_f64()).collect();
        if let Some(again) = median(&mut again) {
            notes.push(format!(
                "Touching a page that is mapped takes {}, which is the clock's own cost for the most part.",
                seconds(again)
            ));
        }
        notes.extend(self.clock.as_ref().map(NominalClock::note));
        let trees = figures::tree_places(self.checkout);
        if trees.trees > 0 {
            notes.push(format!(
                "The checkout reads {}, {} of them deltas, in {} of the pack.",
                count(trees.trees, "tree", "trees"),
                percent(trees.deltas as f64 / trees.trees as f64),
                count(trees.runs, "stretch", "stretches"),
            ));
        }
        notes.extend(self.best_order());
        match self.measured.machine.is_cold {
            Some(true) => notes.push(
                "For the futile opens and the checkouts beside them the whole machine's caches were dropped, which is the only way to make folders \
                 and inodes cold. That they are cannot be looked up as pages can."
                    .to_owned(),
            ),
            Some(false) => notes.push(
                "Folders and inodes were in memory for the futile opens and the checkouts beside them: this process may not write to \
                 /proc/sys/vm/drop_caches, or --keep-caches forbade it."
                    .to_owned(),
            ),
            None => {}
        }
        if let Some(MostChanged { path, changes, commits }) = self.most_changed {
            let of = commits.map_or("all".to_owned(), |commits| format!("the newest {commits}"));
            notes.push(format!(
                "The blame is of {path}, which of all files changed most often, in {} of {of}: each commit is held against its first parent at that \
                 path, merges left out, and each version is read. No lines are compared.",
                count(*changes, "commit", "commits")
            ));
        }
        notes.push(
            "Each round reads new copies of all arms, written and read in an order of its own. Intervals are of Student's t on the logarithms, one \
             value from each round."
                .to_owned(),
        );
        notes.extend(self.left_out.iter().chain(&self.measured.ended_early).cloned());
        notes.extend(self.published.remarks.iter().cloned());
        notes
    }
}

/// The two modes of a role's touches, by the medians over rounds.
fn median_modes(figures: &RoleFigures) -> Option<shares::Modes> {
    let median = |samples| samples::estimate(samples).map(|estimate| estimate.value);
    let misses = median(&figures.misses)?;
    Some(shares::Modes {
        threshold: median(&figures.threshold)?,
        hit: median(&figures.hit)?,
        miss: median(&figures.miss)?,
        hits: (figures.order.touched as f64 - misses).max(0.0).round() as u64,
        misses: misses.round() as u64,
    })
}
