//! The rules of the verdicts.

use repackbench_analysis::Judgement;
use repackbench_records::{Estimate, Figure, Outcome, Statement, Unit};

use super::{
    figures::{OrderGain, TreePlaces},
    published::ClaimedCosts,
    rounds::ROUNDS,
    touches::{Modes, TouchOrder},
};

/// "A lot" or "much", where it has no figure, is at least this many times.
const MUCH: f64 = 2.0;

/// Two shares are the same if they differ by at most this.
const SHARE_TOLERANCE: f64 = 0.05;

/// A claim about all touches holds for most of them from this share on.
const MOSTLY: f64 = 0.9;

/// An order is better if it saves at least this part of the modelled time.
const LEAST_GAIN: f64 = 0.05;

/// A verdict that rests on `rounds` rounds: places on the disk, and what is left in caches that cannot be emptied,
/// differ between rounds.
pub(super) fn of_rounds(rounds: usize, found: Judgement) -> Judgement {
    if matches!(found.outcome, Outcome::NotComparable | Outcome::Undecided) || are_enough(rounds) {
        return found;
    }
    let few = Statement::new("too-few-rounds").with("rounds", Figure::count(rounds));
    let mut reasons = vec![few.with("wanted", Figure::count(ROUNDS))];
    reasons.extend(found.reasons);
    Judgement { outcome: Outcome::Undecided, reasons, ..found }
}

fn are_enough(rounds: usize) -> bool {
    rounds >= ROUNDS as usize
}

fn share_of(id: &str, share: f64) -> Statement {
    Statement::new(id).with("share", Figure::share(share))
}

/// A whole number, such as cycles or a rounded multiple.
fn whole(value: f64) -> Figure {
    Figure::exact(value.round(), Unit::Count)
}

/// Judges that something takes much longer than something else, by its time as a multiple.
fn much_longer(times: &Estimate) -> (Outcome, Statement) {
    let much = |id: &str| Statement::new(id).with("much", whole(MUCH));
    match times.interval {
        Some([low, _]) if low >= MUCH => (Outcome::Reproduced, much("surely-much-longer")),
        Some([low, _]) if low > 1.0 => (Outcome::Changed, much("longer-not-surely-much")),
        Some([_, high]) if high < 1.0 => (Outcome::NotReproduced, Statement::new("shorter")),
        _ => (Outcome::Undecided, Statement::new("perhaps-longer")),
    }
}

/// Judges failed lookups by their time as a multiple of reading the checkout's trees from the pack, cold (`times`), and
/// of the checkout with its files. `is_cold` says whether folders and inodes could be made cold.
pub(super) fn gitignore(
    times: Option<&Estimate>,
    to_checkout: Option<&Estimate>,
    is_cold: Option<bool>,
    folders: u64,
) -> Judgement {
    let (Some(times), Some(is_cold)) = (times, is_cold) else {
        return Judgement::not_measured(Statement::new("looking-for-gitignore"));
    };
    let ratio = |id: &str, ratio: &Estimate| Statement::new(id).with("ratio", ratio);
    let mut measured = vec![ratio("times-reading-trees", times)];
    measured.extend(to_checkout.map(|all| ratio("times-the-checkout", all)));
    if !is_cold {
        return Judgement::new(Outcome::NotComparable, measured, Statement::new("claim-about-a-cold-start"));
    }
    let (outcome, why) = much_longer(times);
    let compared = Statement::new("lookups-compared").with("folders", Figure::count(folders));
    Judgement::new(outcome, measured, compared).because([why])
}

/// Judges the order of the pack's first touches when only trees are read, as was published. `others` are other orders,
/// each with a phrase that says which.
pub(super) fn ordered(order: TouchOrder, others: &[(Statement, TouchOrder)]) -> Judgement {
    let Some(forward) = order.forward() else {
        return Judgement::missing(Statement::new("trees-on-one-page"));
    };
    let outcome = match forward {
        _ if order.back == 0 => Outcome::Reproduced,
        MOSTLY.. => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let steps = Statement::new("steps-of-trees").with("steps", Figure::count(order.steps()));
    let other = |(which, order): &(Statement, TouchOrder)| {
        Some(share_of("order-elsewhere", order.forward()?).with("which", which.clone()))
    };
    Judgement::new(outcome, vec![share_of("go-forward", forward)], steps.with("back", Figure::count(order.back)))
        .because(order.density().map(|density| share_of("pages-touched-between", density)))
        .because(others.iter().filter_map(other))
}

/// Judges the share of the pack's first touches that did not have to wait. `readahead` is how far the kernel reads
/// ahead here, in bytes, and `others` are statements on other shares.
pub(super) fn read_ahead(
    hits: Option<&Estimate>,
    published: Option<f64>,
    readahead: Option<u64>,
    others: Vec<Statement>,
) -> Judgement {
    let (Some(hits), Some(published)) = (hits, published) else {
        return Judgement::missing(Statement::new("no-page-waited-for"));
    };
    let is_same = (hits.value - published).abs() <= SHARE_TOLERANCE;
    let outcome = match hits.value {
        _ if is_same => Outcome::Reproduced,
        value if value > 0.5 => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let reason = Statement::new("share-depends-on-readahead").with("tolerance", Figure::share(SHARE_TOLERANCE));
    let reason = match readahead {
        Some(bytes) => reason.with("ahead", Figure::bytes(bytes as f64)),
        None => reason.with("ahead", Statement::new("unknown-length")),
    };
    Judgement::new(outcome, vec![share_of("part-of-touches", hits.value)], reason).because(others)
}

/// Judges what hits and misses cost here, in seconds, and in cycles if the processor's clock is known. `then` is what
/// they cost in the published lines, in cycles, and `claimed` what the text claims.
pub(super) fn hit_cost(
    here: Option<Modes>,
    hertz: Option<f64>,
    then: Option<Modes>,
    claimed: Option<ClaimedCosts>,
) -> Judgement {
    let (Some(here), Some(then), Some(claimed)) = (here, then, claimed) else {
        return Judgement::missing(Statement::new("one-kind-of-touches"));
    };
    let both = |id: &str, hit: Figure, miss: Figure| Statement::new(id).with("hit", hit).with("miss", miss);
    let mut measured = vec![both("costs-of-touches", Figure::seconds(here.hit), Figure::seconds(here.miss))];
    measured.extend(hertz.map(|hertz| both("costs-in-cycles", whole(here.hit * hertz), whole(here.miss * hertz))));
    let (times, times_then) = (here.miss / here.hit, then.miss / then.hit);
    let is_in = |[least, most]: [f64; 2], cycles: f64| (least..=most).contains(&cycles);
    let is_as_claimed = |hertz: f64| is_in(claimed.hit, here.hit * hertz) && is_in(claimed.miss, here.miss * hertz);
    let outcome = match hertz {
        Some(hertz) if is_as_claimed(hertz) => Outcome::Reproduced,
        _ if times >= 10.0 => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let range = |[least, most]: [f64; 2]| {
        Statement::new("range-of-cycles").with("least", whole(least)).with("most", whole(most))
    };
    let claimed = Statement::new("claimed-costs").with("hits", range(claimed.hit)).with("misses", range(claimed.miss));
    let published = both("published-costs", whole(then.hit), whole(then.miss)).with("times", whole(times_then));
    Judgement::new(outcome, measured, Statement::new("miss-to-hit").with("times", whole(times)))
        .because([claimed, published])
}

/// Judges the checkout from loose objects, as a multiple of that from the pack. `pages` are those of the pack with its
/// index, and of loose objects; `files` is the number of these.
pub(super) fn independent_files(
    times: Option<&Estimate>,
    [pack, loose]: [u64; 2],
    files: u64,
    is_cold: Option<bool>,
) -> Judgement {
    let Some(times) = times else {
        return Judgement::not_measured(Statement::new("checkout-from-loose-objects"));
    };
    let is_cold = is_cold == Some(true);
    let (outcome, why) = match much_longer(times) {
        // If it takes longer with an advantage, it takes longer without.
        found @ (Outcome::Reproduced | Outcome::Changed, _) => found,
        found if is_cold => found,
        _ => (Outcome::NotComparable, Statement::new("only-longer-times-count")),
    };
    let read = Statement::new(if is_cold { "pages-read-cold" } else { "pages-read-with-inodes-in-memory" });
    let read = read.with("loose", Figure::count(loose)).with("files", Figure::count(files));
    let measured = Statement::new("many-times-as-long").with("ratio", times);
    Judgement::new(outcome, vec![measured], read.with("pack", Figure::count(pack))).because([why])
}

/// Judges the order of the index's first touches at the beginning.
pub(super) fn index_random(beginning: TouchOrder) -> Judgement {
    let (Some(back), Some(next)) = (beginning.backward(), beginning.to_the_next()) else {
        return Judgement::missing(Statement::new("index-on-one-page"));
    };
    let outcome = match (back, next) {
        (_, 0.5..) => Outcome::NotReproduced,
        (0.25..=0.75, _) => Outcome::Reproduced,
        _ => Outcome::Changed,
    };
    let measured = Statement::new("go-back-and-to-the-next").with("back", Figure::share(back));
    let reason = Statement::new("rule-of-random").with("steps", Figure::count(beginning.steps()));
    Judgement::new(outcome, vec![measured.with("next", Figure::share(next))], reason)
}

/// Judges the share of the index's pages that were in memory at the end. `touched` is the share that searches touched.
pub(super) fn index_cached(resident: Option<&Estimate>, touched: Option<f64>) -> Judgement {
    let Some(resident) = resident else { return Judgement::missing(Statement::new("no-index-measured")) };
    let least = resident.samples.iter().copied().fold(resident.value, f64::min);
    let outcome = match least {
        1.0.. => Outcome::Reproduced,
        MOSTLY.. => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    Judgement::new(outcome, vec![share_of("part-of-pages", least)], Statement::new("fewest-by-mincore"))
        .because(touched.map(|touched| share_of("searches-touch", touched)))
}

/// Judges whether trees are apart in the source's order, and what reading only them gains where they are written first:
/// each after its base, or with deltas before their bases. The model, which has no noise, chooses which of these two
/// orders decides. `others` are orders that are only described.
pub(super) fn order_could_be_better(trees: TreePlaces, trees_first: &[OrderGain], others: &[OrderGain]) -> Judgement {
    let counts = [("trees", trees.trees), ("deltas", trees.deltas), ("stretches", trees.runs), ("pages", trees.pages)];
    let places = Statement::new("places-of-trees").with("bytes", Figure::bytes(trees.bytes as f64));
    let places = counts.into_iter().fold(places, |places, (name, count)| places.with(name, Figure::count(count)));
    let judge = |outcome, reason| Judgement::new(outcome, vec![places], reason);
    if trees.runs <= 1 {
        return judge(Outcome::NotReproduced, Statement::new("trees-together"));
    }
    let Some(best) = trees_first.iter().min_by(|left, right| left.modelled.total_cmp(&right.modelled)) else {
        return judge(Outcome::Undecided, Statement::new("no-order-with-trees-first"));
    };
    let (outcome, id) = gain_of_trees_first(best);
    let measured = match &best.measured {
        Some(ratio) => Statement::new("trees-first-measured").with("ratio", ratio),
        None => Statement::new("trees-first-not-measured"),
    };
    let in_order = |order: &OrderGain| {
        let stretches = Statement::new("trees-in-order").with("order", order.label.as_str());
        stretches.with("stretches", Figure::count(order.trees.runs))
    };
    judge(outcome, share_of("trees-first-modelled", best.modelled).with("order", best.label.as_str()))
        .because([measured, Statement::new(id)])
        .because(trees_first.iter().chain(others).map(in_order))
}

/// Whether trees at the front are a better order.
fn gain_of_trees_first(order: &OrderGain) -> (Outcome, &'static str) {
    let measured = order.measured.as_ref().filter(|measured| are_enough(measured.samples.len()));
    match measured.and_then(|measured| measured.interval) {
        _ if 1.0 - order.modelled < LEAST_GAIN => (Outcome::NotReproduced, "too-little-gain"),
        Some([_, high]) if high < 1.0 => (Outcome::Reproduced, "order-is-better"),
        Some([low, _]) if low > 1.0 => (Outcome::NotReproduced, "device-is-slower"),
        _ => (Outcome::Undecided, "perhaps-better"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::reason;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some([low, high]), samples: vec![value] }
    }

    #[test]
    fn much_longer_takes_an_interval_above_twice() {
        let verdict = |low, high| much_longer(&estimate(3.0, low, high)).0;
        assert_eq!(verdict(2.0, 9.0), Outcome::Reproduced);
        assert_eq!(verdict(1.1, 9.0), Outcome::Changed);
        assert_eq!(verdict(0.9, 9.0), Outcome::Undecided);
        assert_eq!(verdict(0.1, 0.9), Outcome::NotReproduced);
        assert_eq!(much_longer(&Estimate::exact(100.0)).0, Outcome::Undecided, "one round has no interval");
    }

    #[test]
    fn fewer_rounds_than_usual_decide_nothing() {
        let found = |outcome| Judgement::new(outcome, vec![share_of("go-forward", 0.5)], Statement::new("shorter"));
        assert_eq!(of_rounds(5, found(Outcome::Reproduced)), found(Outcome::Reproduced));
        for outcome in [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced] {
            let few = of_rounds(1, found(outcome));
            assert_eq!((few.outcome, few.measured), (Outcome::Undecided, found(outcome).measured));
            assert_eq!(reason(&few.reasons), "1 round instead of 5 cannot decide the claim. It takes less time.");
        }
        assert_eq!(of_rounds(1, found(Outcome::NotComparable)).outcome, Outcome::NotComparable);
    }

    #[test]
    fn lookups_in_memory_are_not_compared_with_cold_ones() {
        let times = estimate(0.01, 0.005, 0.02);
        assert_eq!(gitignore(Some(&times), None, Some(false), 3).outcome, Outcome::NotComparable);
        assert_eq!(gitignore(Some(&times), Some(&times), Some(true), 3).outcome, Outcome::NotReproduced);
        assert_eq!(gitignore(None, None, Some(true), 3).outcome, Outcome::Undecided);
    }

    #[test]
    fn order_is_total_partial_or_missing() {
        let order = |next, ahead, back| TouchOrder { touched: 100, spanned: 200, next, ahead, back };
        assert_eq!(ordered(order(50, 49, 0), &[]).outcome, Outcome::Reproduced);
        let mostly = ordered(order(50, 48, 1), &[(Statement::new("in-repacked-pack"), order(3, 0, 1))]);
        assert_eq!(mostly.outcome, Outcome::Changed);
        let why = reason(&mostly.reasons);
        assert!(why.contains("takes 99 steps from page to page, 1 of them backwards. 50.0 %"), "{why}");
        assert!(why.ends_with("In a pack that git has written again, 75.0 % go forward."), "{why}");
        assert_eq!(ordered(order(50, 29, 20), &[]).outcome, Outcome::NotReproduced);
        assert_eq!(ordered(order(0, 0, 0), &[]).outcome, Outcome::Undecided);
    }

    #[test]
    fn hits_are_compared_with_the_published_share() {
        let verdict = |share| read_ahead(Some(&Estimate::exact(share)), Some(0.6), Some(131_072), vec![]).outcome;
        assert_eq!([0.64, 0.97, 0.3].map(verdict), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
        assert_eq!(read_ahead(None, Some(0.6), None, vec![]).outcome, Outcome::Undecided);
        let others = vec![share_of("hits-with-files", 0.75)];
        let why = reason(&read_ahead(Some(&Estimate::exact(0.9)), Some(0.6), Some(131_072), others).reasons);
        assert!(why.starts_with("The kernel reads 128 KiB ahead") && why.ends_with("included, it is 75.0 %."), "{why}");
    }

    #[test]
    fn costs_are_as_claimed_or_only_have_the_same_direction() {
        let modes = |hit, miss| Some(Modes { threshold: 0.0, hit, miss, hits: 1, misses: 1 });
        let then = modes(320.0, 7e6);
        let claimed = Some(ClaimedCosts { hit: [300.0, 500.0], miss: [1e7, 1e8] });
        let verdict = |hit, miss, hertz| hit_cost(modes(hit, miss), hertz, then, claimed).outcome;
        // At 1 GHz a nanosecond is a cycle.
        assert_eq!(verdict(300e-9, 15e-3, Some(1e9)), Outcome::Reproduced);
        assert_eq!(verdict(300e-9, 5e-3, Some(1e9)), Outcome::Changed, "five million are not tens of millions");
        assert_eq!(verdict(200e-9, 15e-3, Some(1e9)), Outcome::Changed, "hits cost less");
        assert_eq!(verdict(550e-9, 15e-3, Some(1e9)), Outcome::Changed, "hits cost more");
        assert_eq!(verdict(300e-9, 0.2, Some(1e9)), Outcome::Changed, "misses cost more");
        assert_eq!(verdict(300e-9, 15e-3, None), Outcome::Changed, "the number of cycles is unknown");
        assert_eq!(verdict(300e-9, 600e-9, Some(1e9)), Outcome::NotReproduced);
        assert_eq!(hit_cost(None, None, then, claimed).outcome, Outcome::Undecided);
    }

    #[test]
    fn index_is_read_at_random_if_touches_go_back_and_forth() {
        let order = |next, ahead, back| TouchOrder { touched: 21, spanned: 400, next, ahead, back };
        // The published lines.
        assert_eq!(index_random(order(4, 8, 8)).outcome, Outcome::Reproduced);
        assert_eq!(index_random(order(2, 17, 1)).outcome, Outcome::Changed);
        assert_eq!(index_random(order(12, 4, 4)).outcome, Outcome::NotReproduced);
        assert_eq!(index_random(order(0, 0, 0)).outcome, Outcome::Undecided);
    }

    #[test]
    fn index_is_cached_if_it_was_in_every_round() {
        let verdict = |samples: &[f64]| {
            index_cached(Some(&Estimate { value: 1.0, interval: None, samples: samples.to_vec() }), None).outcome
        };
        assert_eq!(verdict(&[1.0, 1.0]), Outcome::Reproduced);
        assert_eq!(verdict(&[1.0, 0.95]), Outcome::Changed);
        assert_eq!(verdict(&[1.0, 0.5]), Outcome::NotReproduced);
        assert_eq!(index_cached(None, None).outcome, Outcome::Undecided);
    }

    /// Trees that are not together.
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
    fn trees_first_takes_a_modelled_and_a_measured_gain() {
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
    fn model_chooses_between_orders_with_trees_first() {
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
        let places = "In the order trees-first, they are in 1 stretch. In the order trees-first, deltas before bases, they are in 20 \
                      stretches. In the order recency, they are in 1 stretch.";
        assert!(reason(&found.reasons).ends_with(places), "{:?}", found.reasons);
    }

    #[test]
    fn loose_objects_are_compared_with_the_pack() {
        let finding = independent_files(Some(&estimate(6.0, 4.0, 9.0)), [50, 700], 650, Some(true));
        assert_eq!(finding.outcome, Outcome::Reproduced);
        let why = reason(&finding.reasons);
        assert!(why.contains("700 pages of 650 files, and 50 pages of the pack"), "{why}");
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
