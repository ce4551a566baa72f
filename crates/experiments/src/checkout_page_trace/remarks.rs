//! The differences from the published set-up, and the notes on the measurement.

use repackbench_analysis::median;
use repackbench_reader::FileRole;
use repackbench_records::{Figure, Statement};
use repackbench_timing::trace::pages::PAGE_LEN;

use super::{
    arms::{CHECKOUT, SPEC},
    figures::TreePlaces,
    findings::Findings,
    history::MostChanged,
    nominal::NominalClock,
};

pub(super) fn differences(found: &Findings<'_>) -> Vec<Statement> {
    let common = [
        "disk-caches-stay",
        "machine-of-2007",
        "published-read-trees",
        "costs-are-elapsed-time",
        "neighbours-are-mapped",
        "touches-without-work",
        "index-searched-like-git",
    ];
    let mut differences: Vec<Statement> = common.map(Statement::new).to_vec();
    differences.push(Statement::new("packs-written-again").with("spec", SPEC));
    let readahead = |bytes: u64| Statement::new("readahead-here").with("ahead", Figure::bytes(bytes as f64));
    differences.extend(found.readahead.map(readahead));
    differences.extend(found.revision.map(|name| Statement::new("checkout-of-revision").with("revision", name)));
    differences
}

pub(super) fn notes(found: &Findings<'_>) -> Vec<Statement> {
    let mut notes = Vec::new();
    if let Some(modes) = found.of_trees(FileRole::Pack).median_modes() {
        let threshold = Statement::new("threshold-of-hits").with("time", Figure::seconds(modes.threshold));
        notes.push(threshold.with("page", Figure::bytes(PAGE_LEN as f64)));
    }
    let mut again: Vec<f64> = found.measured.touches.iter().map(|round| round.again.as_secs_f64()).collect();
    notes.extend(median(&mut again).map(|again| Statement::new("mapped-page").with("time", Figure::seconds(again))));
    notes.extend(found.clock.as_ref().map(NominalClock::note));
    let trees = TreePlaces::of(found.checkout);
    if trees.trees > 0 {
        let read = Statement::new("trees-of-the-checkout").with("trees", Figure::count(trees.trees));
        let read = read.with("deltas", Figure::share(trees.deltas as f64 / trees.trees as f64));
        notes.push(read.with("stretches", Figure::count(trees.runs)));
    }
    notes.extend(best_order(found));
    notes.extend(
        found
            .measured
            .machine
            .is_cold
            .map(|is_cold| Statement::new(if is_cold { "all-caches-dropped" } else { "inodes-stayed-in-memory" })),
    );
    if let Some(MostChanged { path, changes, commits }) = found.most_changed {
        let of = match commits {
            Some(commits) => Statement::new("newest-commits").with("commits", Figure::count(*commits)),
            None => Statement::new("all-commits"),
        };
        let blame = Statement::new("blame-of").with("path", path.as_str());
        notes.push(blame.with("changes", Figure::count(*changes)).with("of", of));
    }
    notes.push(Statement::new("copies-of-each-round"));
    notes.extend(found.left_out.iter().chain(&found.measured.ended_early).cloned());
    notes
}

/// The best order for the checkout by the model, whatever it moves, and its cold time.
fn best_order(found: &Findings<'_>) -> Vec<Statement> {
    let gains = found.gains(CHECKOUT, |_| true);
    let Some(best) = gains.iter().min_by(|left, right| left.modelled.total_cmp(&right.modelled)) else {
        return Vec::new();
    };
    let of_best = |id: &str| Statement::new(id).with("order", best.label.as_str());
    let cold = match &best.measured {
        Some(ratio) => of_best("best-order-cold").with("ratio", ratio),
        None => of_best("best-order-not-measured"),
    };
    vec![of_best("best-order").with("share", Figure::share(best.modelled)), cold]
}
