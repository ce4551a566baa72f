//! The figures that decide each claim.

use repackbench_analysis::{Judgement, claim_outcomes};
use repackbench_reader::FileRole;
use repackbench_records::{ClaimOutcome, Estimate, Figure, Statement};
use repackbench_timing::trace::{Device, pages::file_pages};
use repackbench_writer::{Layout, Order};

use super::{
    arms::{CHECKOUT, REPACKED, TREES, VariantArm},
    figures::{TreePlaces, median_only, modelled_hits},
    findings::Findings,
    published::ClaimedCosts,
    rounds::MachineStep,
    tables::store_order,
    touches::{TouchOrder, share},
    verdicts::{self, of_rounds},
};

/// The outcome of every claim.
pub(super) fn claims(found: &Findings<'_>) -> Vec<ClaimOutcome> {
    let (pack, index) = (found.of_trees(FileRole::Pack), found.of_trees(FileRole::PackIndex));
    let machine = &found.measured.machine;
    let lookups = machine.ratio(MachineStep::Lookups(0), MachineStep::Trees);
    let lookups_to_checkout = machine.ratio(MachineStep::Lookups(0), MachineStep::Checkout(0));
    let hits = median_only(&pack.hits);
    let resident = median_only(&index.resident);
    let loose = found.loose.and_then(|loose| machine.ratio(MachineStep::Checkout(loose), MachineStep::Checkout(0)));
    let rounds = |found: &Option<Estimate>| found.as_ref().map_or(0, |found| found.samples.len());
    // A measured claim takes enough rounds; one that is counted in a trace does not.
    let judged = [
        (
            "gitignore",
            of_rounds(
                rounds(&lookups),
                verdicts::gitignore(
                    lookups.as_ref(),
                    lookups_to_checkout.as_ref(),
                    machine.is_cold,
                    found.folders.len(),
                ),
            ),
        ),
        ("ordered", verdicts::ordered(pack.order, &other_orders(found))),
        (
            "read-ahead",
            of_rounds(
                rounds(&hits),
                verdicts::read_ahead(hits.as_ref(), found.published_hits(), found.readahead, other_hits(found)),
            ),
        ),
        (
            "hit-cost",
            of_rounds(
                pack.hit.len(),
                verdicts::hit_cost(
                    pack.median_modes(),
                    found.hertz(),
                    found.lines("pack").modes(),
                    ClaimedCosts::of(found.published),
                ),
            ),
        ),
        ("independent-files", of_rounds(rounds(&loose), independent_files(found, loose.as_ref()))),
        ("index-random", verdicts::index_random(index.beginning)),
        (
            "index-cached",
            of_rounds(
                rounds(&resident),
                verdicts::index_cached(resident.as_ref(), share(index.order.touched, index.pages)),
            ),
        ),
        ("order-could-be-better", order_could_be_better(found)),
    ];
    claim_outcomes(found.published, judged)
}

/// The order of touches in packs as git would write them, and in the checkout with its files.
fn other_orders(found: &Findings<'_>) -> Vec<(Statement, TouchOrder)> {
    let of_arm = |arm: &VariantArm| {
        let id = match arm {
            VariantArm { label, .. } if label == REPACKED => "in-repacked-pack",
            VariantArm { layout, .. } if *layout == Layout::in_order(Order::Recency) => "in-recency-order",
            _ => return None,
        };
        Some((Statement::new(id), store_order(&file_pages(&arm.reads.get(TREES)?.trace))?))
    };
    let with_files = (Statement::new("with-files"), found.of_checkout(FileRole::Pack).order);
    found.arms.iter().filter_map(of_arm).chain([with_files]).collect()
}

/// Other shares of hits.
fn other_hits(found: &Findings<'_>) -> Vec<Statement> {
    let disk = Device::hdd();
    let modelled = modelled_hits(FileRole::Pack, found.trees, &disk);
    let modelled = modelled.map(|share| {
        let model = Statement::new("modelled-hits").with("ahead", Figure::bytes(disk.readahead as f64));
        model.with("share", Figure::share(share))
    });
    let with_files = median_only(&found.of_checkout(FileRole::Pack).hits);
    let with_files = with_files.map(|all| Statement::new("hits-with-files").with("share", Figure::share(all.value)));
    modelled.into_iter().chain(with_files).collect()
}

fn independent_files(found: &Findings<'_>, times: Option<&Estimate>) -> Judgement {
    let pages = |arm: Option<usize>| {
        let reads = arm.and_then(|arm| found.arms.get(arm)?.reads.get(CHECKOUT));
        reads.map_or(0, |reads| file_pages(&reads.trace).iter().map(|pages| pages.touched).sum())
    };
    let files = found.loose.and_then(|loose| found.arms.get(loose)).map_or(0, |arm| arm.loose_files(CHECKOUT));
    verdicts::independent_files(times, [pages(Some(0)), pages(found.loose)], files, found.measured.machine.is_cold)
}

fn order_could_be_better(found: &Findings<'_>) -> Judgement {
    let gains = |order: Order| found.gains(TREES, |arm| arm.layout.order == order);
    verdicts::order_could_be_better(TreePlaces::of(found.checkout), &gains(Order::TreesFirst), &gains(Order::Recency))
}
