//! From figures to verdicts, by rule.

use repackbench_records::{Estimate, Outcome};

use super::{
    rounds::ROUNDS,
    shares::{Modes, TouchOrder},
};
use crate::{
    text::{count, estimate as ratio, seconds, share as percent},
    verdict::Judgement,
};

/// What is at least meant where something is called a lot, or much, without a figure.
const MUCH: f64 = 2.0;

/// How far a share may lie from the published one and be called the same.
const SHARE_TOLERANCE: f64 = 0.05;

/// From which share on something that should be so always is so mostly.
const MOSTLY: f64 = 0.9;

/// What the modelled time has to fall by for an order to be called better.
const LEAST_GAIN: f64 = 0.05;

/// A verdict that rests on so many rounds: places on the disk, and what caches that nobody can empty have left, differ between them.
pub(super) fn of_rounds(rounds: usize, found: Judgement) -> Judgement {
    let is_decided = !matches!(found.outcome, Outcome::NotComparable | Outcome::Undecided);
    if !is_decided || are_enough(rounds) {
        return found;
    }
    let rounds = count(rounds as u64, "round", "rounds");
    let reason = format!("Of {rounds} instead of {ROUNDS} nothing is decided. {}", found.reason);
    Judgement { outcome: Outcome::Undecided, reason, ..found }
}

fn are_enough(rounds: usize) -> bool {
    rounds >= ROUNDS as usize
}

/// By how many times something was found larger that is claimed to be much larger.
fn much_larger(times: &Estimate) -> Outcome {
    match times.interval {
        Some([low, _]) if low >= MUCH => Outcome::Reproduced,
        Some([low, _]) if low > 1.0 => Outcome::Changed,
        Some([_, high]) if high < 1.0 => Outcome::NotReproduced,
        _ => Outcome::Undecided,
    }
}

/// Why [`much_larger`] says so.
fn why_much_larger(outcome: Outcome) -> String {
    match outcome {
        Outcome::Reproduced => format!("the whole interval lies at {MUCH} or more"),
        Outcome::Changed => format!("it is more, but not surely {MUCH} times as much"),
        Outcome::NotReproduced => "it is less".to_owned(),
        _ => "the interval holds 1, or there is none for want of rounds".to_owned(),
    }
}

/// Futile opens, as a multiple of reading the checkout's trees from the pack, cold; and of reading the files, too. `is_cold` says
/// whether folders and inodes could be made cold.
pub(super) fn gitignore(
    times: Option<&Estimate>,
    of_all: Option<&Estimate>,
    is_cold: Option<bool>,
    folders: u64,
) -> Judgement {
    let (Some(times), Some(is_cold)) = (times, is_cold) else {
        return Judgement::missing("The opens were not measured.");
    };
    let of_all = of_all.map_or(String::new(), |of_all| format!(", {} times with the files", ratio(of_all)));
    let measured = format!("{} times reading the trees from the pack{of_all}", ratio(times));
    if !is_cold {
        let reason = "Folders and inodes were in memory: dropping them takes rights over the whole machine, and the claim is about a \
                      cold start."
            .to_owned();
        return Judgement::new(Outcome::NotComparable, measured, reason);
    }
    let outcome = much_larger(times);
    let reason = format!(
        "Both with all caches dropped, opens of .gitignore in {} beside reading and decoding the trees of what is checked out: {}.",
        count(folders, "folder", "folders"),
        why_much_larger(outcome)
    );
    Judgement::new(outcome, measured, reason)
}

/// The order of the pack's first touches by whom reads the trees alone, as was published, and other orders, each with what it is, as the
/// beginning of a sentence.
pub(super) fn ordered(order: TouchOrder, others: &[(&str, TouchOrder)]) -> Judgement {
    let Some(forward) = order.forward() else {
        return Judgement::missing("The trees of the checkout touch one page of the pack at most.");
    };
    let measured = format!("{} go forward", percent(forward));
    let outcome = match forward {
        _ if order.back == 0 => Outcome::Reproduced,
        MOSTLY.. => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let mut reason = format!(
        "Reading trees alone, of {} from one page to another, {} back.",
        count(order.steps(), "step", "steps"),
        match order.back {
            0 => "none leads".to_owned(),
            1 => "1 leads".to_owned(),
            back => format!("{back} lead"),
        }
    );
    if let Some(density) = order.density() {
        reason += &format!(" {} of the pages between the first and the last are touched.", percent(density));
    }
    for (what, order) in others {
        if let Some(forward) = order.forward() {
            reason += &format!(" {what}, {} go forward.", percent(forward));
        }
    }
    Judgement::new(outcome, measured, reason)
}

/// The share of the pack's first touches that had not to wait. `published` is the published one, `readahead` what the kernel reads ahead
/// here, in bytes, and `others` are other shares, each with what it is, as the beginning of a sentence.
pub(super) fn read_ahead(
    hits: Option<&Estimate>,
    published: Option<f64>,
    readahead: Option<u64>,
    others: &[(String, f64)],
) -> Judgement {
    let (Some(hits), Some(published)) = (hits, published) else {
        return Judgement::missing("No page was waited for, or nothing was measured.");
    };
    let is_same = (hits.value - published).abs() <= SHARE_TOLERANCE;
    let outcome = match hits.value {
        _ if is_same => Outcome::Reproduced,
        value if value > 0.5 => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let ahead = readahead.map_or("an unknown length".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
    let mut reason = format!(
        "The kernel reads {ahead} ahead on this file system; a share within {} of the published one would be the same.",
        percent(SHARE_TOLERANCE)
    );
    for (what, share) in others {
        reason += &format!(" {what} {}.", percent(*share));
    }
    Judgement::new(outcome, percent(hits.value), reason)
}

/// What is claimed that touches cost, in cycles, from the first figure to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClaimedCosts {
    pub(super) hit: [f64; 2],
    pub(super) miss: [f64; 2],
}

/// What hits and misses cost here, in seconds, and in cycles if the processor's clock is known; what they cost in the published lines, and
/// what is claimed that they cost, in cycles.
pub(super) fn hit_cost(
    here: Option<Modes>,
    hertz: Option<f64>,
    then: Option<Modes>,
    claimed: Option<ClaimedCosts>,
) -> Judgement {
    let (Some(here), Some(then), Some(claimed)) = (here, then, claimed) else {
        return Judgement::missing("There are no two kinds of touches to tell apart.");
    };
    let cycles = |time: f64| hertz.map_or(String::new(), |hertz| format!(" ({:.0} cycles)", time * hertz));
    let measured =
        format!("a hit {}{}, a miss {}{}", seconds(here.hit), cycles(here.hit), seconds(here.miss), cycles(here.miss));
    let (times, times_then) = (here.miss / here.hit, then.miss / then.hit);
    let lies_in = |[least, most]: [f64; 2], cycles: f64| (least..=most).contains(&cycles);
    let is_like = |hertz: f64| lies_in(claimed.hit, here.hit * hertz) && lies_in(claimed.miss, here.miss * hertz);
    let outcome = match hertz {
        Some(hertz) if is_like(hertz) => Outcome::Reproduced,
        _ if times >= 10.0 => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let reason = format!(
        "A miss costs {times:.0} times what a hit costs. As claimed are hits of {:.0} to {:.0} cycles and misses of {:.0} million to {:.0} \
         million; the published lines have {:.0} and {:.1} million in the median, {times_then:.0} times.",
        claimed.hit[0],
        claimed.hit[1],
        claimed.miss[0] / 1e6,
        claimed.miss[1] / 1e6,
        then.hit,
        then.miss / 1e6
    );
    Judgement::new(outcome, measured, reason)
}

/// The checkout from loose objects, as a multiple of that from the pack. `pages` are those of the pack with its index, and of loose
/// objects; `files` is the number of those.
pub(super) fn independent_files(
    times: Option<&Estimate>,
    pages: [u64; 2],
    files: u64,
    is_cold: Option<bool>,
) -> Judgement {
    let Some(times) = times else { return Judgement::missing("The loose objects were not measured.") };
    let caches = match is_cold {
        Some(true) => "with all caches dropped",
        _ => "with folders and inodes in memory, which favours loose objects",
    };
    let (outcome, why) = match (much_larger(times), is_cold) {
        // What takes longer although it is favoured takes longer.
        (found @ (Outcome::Reproduced | Outcome::Changed), _) | (found, Some(true)) => (found, why_much_larger(found)),
        _ => (
            Outcome::NotComparable,
            "the claim is about a cold start, so that only longer times would count".to_owned(),
        ),
    };
    let reason = format!(
        "The same checkout {caches}: {} of {} against {} of the pack and its index; {}.",
        count(pages[1], "page", "pages"),
        count(files, "file", "files"),
        count(pages[0], "page", "pages"),
        why
    );
    Judgement::new(outcome, format!("{} times as long", ratio(times)), reason)
}

/// The order of the index's first touches at the beginning.
pub(super) fn index_random(beginning: TouchOrder) -> Judgement {
    let (Some(back), Some(next)) = (beginning.backward(), beginning.to_the_next()) else {
        return Judgement::missing("The checkout touches one page of the index at most.");
    };
    let measured = format!("{} go back, {} to the very next page", percent(back), percent(next));
    let outcome = match (back, next) {
        (_, 0.5..) => Outcome::NotReproduced,
        (0.25..=0.75, _) => Outcome::Reproduced,
        _ => Outcome::Changed,
    };
    let reason = format!(
        "By git's own search, of the first {} at the beginning; called random where a quarter to three quarters go back and fewer than half to the next page.",
        count(beginning.steps(), "step", "steps")
    );
    Judgement::new(outcome, measured, reason)
}

/// The share of the index's pages that were in memory at the end.
pub(super) fn index_cached(resident: Option<&Estimate>, touched: Option<f64>) -> Judgement {
    let Some(resident) = resident else { return Judgement::missing("No index was measured.") };
    let least = resident.samples.iter().copied().fold(resident.value, f64::min);
    let outcome = match least {
        1.0.. => Outcome::Reproduced,
        MOSTLY.. => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let touched = touched.map_or(String::new(), |touched| {
        format!(" The searches themselves touch {} of them; the others came by reading ahead.", percent(touched))
    });
    Judgement::new(outcome, percent(least), format!("By mincore, in the round with the fewest.{touched}"))
}

/// How the trees of the revision, and those that they are deltas on, lie in the pack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreePlaces {
    /// How many there are.
    pub(super) trees: u64,
    /// How many of them are deltas.
    pub(super) deltas: u64,
    /// Their stored bytes.
    pub(super) bytes: u64,
    /// The pages that hold them.
    pub(super) pages: u64,
    /// The stretches of neighbouring pages that those make.
    pub(super) runs: u64,
}

/// An order, held against the source's.
pub(super) struct OrderGain {
    pub(super) label: String,
    /// How the trees lie in it.
    pub(super) trees: TreePlaces,
    /// The modelled time of the job on a disk that has to seek, as a part of that in the source's order.
    pub(super) modelled: f64,
    /// The measured cold time, as a part of that in the source's order.
    pub(super) measured: Option<Estimate>,
}

/// Whether trees lie apart in the source's order, and what reading them alone gains where they are written first: each behind its base, and
/// where deltas may lie before their bases. Of these two the model, which has no noise, chooses the one that decides. `others` are orders that
/// are told beside them.
pub(super) fn order_could_be_better(trees: TreePlaces, trees_first: &[OrderGain], others: &[OrderGain]) -> Judgement {
    let apart = format!(
        "the {} of the revision and their bases ({} of them deltas, {} bytes) lie in {} of {}",
        count(trees.trees, "tree", "trees"),
        trees.deltas,
        trees.bytes,
        count(trees.runs, "stretch", "stretches"),
        count(trees.pages, "page", "pages"),
    );
    if trees.runs <= 1 {
        return Judgement::new(Outcome::NotReproduced, apart, "They lie together.".to_owned());
    }
    let Some(best) = trees_first.iter().min_by(|left, right| left.modelled.total_cmp(&right.modelled)) else {
        return Judgement::new(Outcome::Undecided, apart, "No order with the trees first was tried.".to_owned());
    };
    let (outcome, why) = what_trees_gain(best);
    let measured = best.measured.as_ref().map_or("not measured".to_owned(), |found| format!("{} of it", ratio(found)));
    let mut reason = format!(
        "Written first ({}), reading them takes {} of the source order's time by the model of a hard disk, and cold on this device \
         {measured}. {why}",
        best.label,
        percent(best.modelled),
    );
    for order in trees_first.iter().chain(others) {
        reason +=
            &format!(" In the order {} they lie in {}.", order.label, count(order.trees.runs, "stretch", "stretches"));
    }
    Judgement::new(outcome, apart, reason)
}

/// Whether trees at the front are a better order.
fn what_trees_gain(order: &OrderGain) -> (Outcome, &'static str) {
    let measured = order.measured.as_ref().filter(|measured| are_enough(measured.samples.len()));
    let interval = measured.and_then(|measured| measured.interval);
    let is_gain = |part: f64| 1.0 - part >= LEAST_GAIN;
    match interval {
        _ if !is_gain(order.modelled) => {
            (Outcome::NotReproduced, "That is too little to call where the trees lie a fault of the order.")
        }
        Some([_, high]) if high < 1.0 => (Outcome::Reproduced, "So the order could be better, here too."),
        Some([low, _]) if low > 1.0 => (Outcome::NotReproduced, "This device is slower on it."),
        _ => (
            Outcome::Undecided,
            "This device does not tell: the interval holds 1, or there is none for want of rounds.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some([low, high]), samples: vec![value] }
    }

    #[test]
    fn a_lot_is_twice_at_least_and_only_what_an_interval_says() {
        let verdict = |low, high| much_larger(&estimate(3.0, low, high));
        assert_eq!(verdict(2.0, 9.0), Outcome::Reproduced);
        assert_eq!(verdict(1.1, 9.0), Outcome::Changed);
        assert_eq!(verdict(0.9, 9.0), Outcome::Undecided);
        assert_eq!(verdict(0.1, 0.9), Outcome::NotReproduced);
        assert_eq!(much_larger(&Estimate::exact(100.0)), Outcome::Undecided, "one round has no interval");
    }

    #[test]
    fn fewer_rounds_than_usual_decide_nothing() {
        let found = |outcome| Judgement::new(outcome, "3".to_owned(), "Why.".to_owned());
        assert_eq!(of_rounds(5, found(Outcome::Reproduced)), found(Outcome::Reproduced));
        for outcome in [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced] {
            let few = of_rounds(1, found(outcome));
            assert_eq!((few.outcome, few.measured.as_str()), (Outcome::Undecided, "3"));
            assert_eq!(few.reason, "Of 1 round instead of 5 nothing is decided. Why.");
        }
        assert_eq!(of_rounds(1, found(Outcome::NotComparable)).outcome, Outcome::NotComparable);
    }

    #[test]
    fn opens_in_memory_are_not_compared_with_cold_ones() {
        let times = estimate(0.01, 0.005, 0.02);
        assert_eq!(gitignore(Some(&times), None, Some(false), 3).outcome, Outcome::NotComparable);
        assert_eq!(gitignore(Some(&times), Some(&times), Some(true), 3).outcome, Outcome::NotReproduced);
        assert_eq!(gitignore(None, None, Some(true), 3).outcome, Outcome::Undecided);
    }

    #[test]
    fn order_is_total_or_mostly_or_not_there() {
        let order = |next, ahead, back| TouchOrder { touched: 100, spanned: 200, next, ahead, back };
        assert_eq!(ordered(order(50, 49, 0), &[]).outcome, Outcome::Reproduced);
        let mostly = ordered(order(50, 48, 1), &[("In another pack", order(3, 0, 1))]);
        assert_eq!(mostly.outcome, Outcome::Changed);
        assert!(
            mostly.reason.contains("of 99 steps from one page to another, 1 leads back. 50.0 %"),
            "{}",
            mostly.reason
        );
        assert_eq!(ordered(order(50, 29, 20), &[]).outcome, Outcome::NotReproduced);
        assert_eq!(ordered(order(0, 0, 0), &[]).outcome, Outcome::Undecided);
    }

    #[test]
    fn hits_are_held_against_the_published_share() {
        let verdict = |share| read_ahead(Some(&Estimate::exact(share)), Some(0.6), Some(131_072), &[]).outcome;
        assert_eq!([0.64, 0.97, 0.3].map(verdict), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
        assert_eq!(read_ahead(None, Some(0.6), None, &[]).outcome, Outcome::Undecided);
        let modelled =
            read_ahead(Some(&Estimate::exact(0.9)), Some(0.6), None, &[("By the model it is".to_owned(), 0.75)]);
        assert!(modelled.reason.ends_with("By the model it is 75.0 %."), "{}", modelled.reason);
    }

    #[test]
    fn costs_are_those_that_were_claimed_or_only_alike_in_their_direction() {
        let modes = |hit, miss| Some(Modes { threshold: 0.0, hit, miss, hits: 1, misses: 1 });
        let then = modes(320.0, 7e6);
        let claimed = Some(ClaimedCosts { hit: [300.0, 500.0], miss: [1e7, 1e8] });
        let verdict = |hit, miss, hertz| hit_cost(modes(hit, miss), hertz, then, claimed).outcome;
        // At 1 GHz a nanosecond is a cycle.
        assert_eq!(verdict(300e-9, 15e-3, Some(1e9)), Outcome::Reproduced);
        assert_eq!(verdict(300e-9, 5e-3, Some(1e9)), Outcome::Changed, "five million are no tens of millions");
        assert_eq!(verdict(200e-9, 15e-3, Some(1e9)), Outcome::Changed, "hits are cheaper");
        assert_eq!(verdict(550e-9, 15e-3, Some(1e9)), Outcome::Changed, "hits are dearer");
        assert_eq!(verdict(300e-9, 0.2, Some(1e9)), Outcome::Changed, "misses are dearer");
        assert_eq!(verdict(300e-9, 15e-3, None), Outcome::Changed, "nobody knows how many cycles");
        assert_eq!(verdict(300e-9, 600e-9, Some(1e9)), Outcome::NotReproduced);
        assert_eq!(hit_cost(None, None, then, claimed).outcome, Outcome::Undecided);
    }

    #[test]
    fn an_index_is_read_at_random_where_it_goes_back_and_forth() {
        let order = |next, ahead, back| TouchOrder { touched: 21, spanned: 400, next, ahead, back };
        // The published lines.
        assert_eq!(index_random(order(4, 8, 8)).outcome, Outcome::Reproduced);
        assert_eq!(index_random(order(2, 17, 1)).outcome, Outcome::Changed);
        assert_eq!(index_random(order(12, 4, 4)).outcome, Outcome::NotReproduced);
        assert_eq!(index_random(order(0, 0, 0)).outcome, Outcome::Undecided);
    }

    #[test]
    fn the_index_is_cached_if_it_was_in_every_round() {
        let verdict = |samples: &[f64]| {
            index_cached(Some(&Estimate { value: 1.0, interval: None, samples: samples.to_vec() }), None).outcome
        };
        assert_eq!(verdict(&[1.0, 1.0]), Outcome::Reproduced);
        assert_eq!(verdict(&[1.0, 0.95]), Outcome::Changed);
        assert_eq!(verdict(&[1.0, 0.5]), Outcome::NotReproduced);
        assert_eq!(index_cached(None, None).outcome, Outcome::Undecided);
    }

    /// Trees that lie apart.
    const APART: TreePlaces = TreePlaces { trees: 100, deltas: 40, bytes: 40_000, pages: 30, runs: 20 };

    fn trees_first(modelled: f64, interval: Option<[f64; 2]>) -> OrderGain {
        OrderGain {
            label: "trees-first".to_owned(),
            trees: TreePlaces { runs: 1, ..APART },
            modelled,
            measured: Some(Estimate { value: 0.8, interval, samples: vec![0.8; 5] }),
        }
    }

    #[test]
    fn the_order_is_better_with_trees_first_where_model_and_measurement_say_so() {
        let verdict = |trees, modelled, interval: Option<[f64; 2]>| {
            order_could_be_better(trees, &[trees_first(modelled, interval)], &[]).outcome
        };
        assert_eq!(verdict(APART, 0.5, Some([0.7, 0.9])), Outcome::Reproduced);
        assert_eq!(verdict(APART, 0.5, Some([0.7, 1.1])), Outcome::Undecided);
        assert_eq!(verdict(APART, 0.5, None), Outcome::Undecided);
        assert_eq!(verdict(APART, 0.5, Some([1.1, 1.2])), Outcome::NotReproduced);
        let mut few = trees_first(0.5, Some([0.7, 0.9]));
        few.measured = Some(Estimate { samples: vec![0.8; 4], ..estimate(0.8, 0.7, 0.9) });
        assert_eq!(order_could_be_better(APART, &[few], &[]).outcome, Outcome::Undecided, "four rounds");
        assert_eq!(verdict(APART, 0.97, Some([0.7, 0.9])), Outcome::NotReproduced);
        let together = TreePlaces { runs: 1, ..APART };
        assert_eq!(verdict(together, 0.5, Some([0.7, 0.9])), Outcome::NotReproduced);
    }

    #[test]
    fn of_two_orders_with_trees_first_the_model_chooses_and_others_decide_nothing() {
        let recency = OrderGain { label: "recency".to_owned(), ..trees_first(0.1, Some([0.1, 0.2])) };
        let alone = order_could_be_better(APART, &[], std::slice::from_ref(&recency));
        assert_eq!(alone.outcome, Outcome::Undecided, "however much another order gains");
        let slower = OrderGain {
            label: "trees-first, deltas before bases".to_owned(),
            trees: APART,
            ..trees_first(0.4, Some([1.1, 1.2]))
        };
        let found = order_could_be_better(APART, &[trees_first(0.5, Some([0.7, 0.9])), slower], &[recency]);
        assert_eq!(found.outcome, Outcome::NotReproduced, "not the luckier interval");
        let lie = "In the order trees-first they lie in 1 stretch. In the order trees-first, deltas before bases they lie in 20 stretches. \
                   In the order recency they lie in 1 stretch.";
        assert!(found.reason.ends_with(lie), "{}", found.reason);
    }

    #[test]
    fn loose_objects_are_held_against_the_pack() {
        let finding = independent_files(Some(&estimate(6.0, 4.0, 9.0)), [50, 700], 650, Some(true));
        assert_eq!(finding.outcome, Outcome::Reproduced);
        assert!(finding.reason.contains("700 pages of 650 files against 50 pages"), "{}", finding.reason);
        assert_eq!(independent_files(None, [0, 0], 0, None).outcome, Outcome::Undecided);
        let verdict = |low, high, is_cold| {
            independent_files(Some(&estimate((low + high) / 2.0, low, high)), [50, 700], 650, is_cold).outcome
        };
        assert_eq!(verdict(0.4, 0.6, Some(true)), Outcome::NotReproduced);
        for is_cold in [Some(false), None] {
            assert_eq!(verdict(4.0, 9.0, is_cold), Outcome::Reproduced, "although inodes were in memory");
            assert_eq!(verdict(1.2, 9.0, is_cold), Outcome::Changed);
            assert_eq!(verdict(0.9, 9.0, is_cold), Outcome::NotComparable);
            assert_eq!(verdict(0.4, 0.6, is_cold), Outcome::NotComparable, "that is what inodes in memory do");
        }
    }
}
