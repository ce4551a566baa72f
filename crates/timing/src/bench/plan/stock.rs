//! Plans that stock clients cannot carry out, refused before anything is made.

use repackbench_codec::{Algorithm, CodecSpec};
use repackbench_reader::Repository;
use repackbench_writer::StoreKind;

use super::BenchPlan;
use crate::BenchError;

/// The engines that hg has without an extension.
const ENGINES: [&str; 3] = ["none", "zlib", "zstd"];

/// Refuses what stock clients cannot do.
pub(super) fn check(plan: &BenchPlan, source: &Repository) -> Result<(), BenchError> {
    let refused = |why: String| Err(BenchError::Plan { why });
    let specs = plan.specs(source);
    match source {
        Repository::Git(_) => check_git(plan, source, &specs)?,
        Repository::Hg(_) => check_hg(plan, &specs)?,
    }
    let only_in_process = [
        (plan.is_cold, "cold runs"),
        (plan.jobs > 1, "several jobs at once"),
        (plan.is_self_test, "the self-test"),
        (plan.workloads.is_empty() && !plan.decoders.is_empty(), "decoders"),
        (plan.workloads.is_empty() && !plan.delta_caches().1.is_empty(), "several limits of the delta cache"),
        (plan.workloads.is_empty() && !plan.devices.is_empty(), "modelled devices"),
    ];
    match only_in_process.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => refused(format!("{what}: only in-process, not by commands of stock git or hg")),
        None => Ok(()),
    }
}

fn check_git(plan: &BenchPlan, source: &Repository, specs: &[CodecSpec]) -> Result<(), BenchError> {
    let refused = |why: String| Err(BenchError::Plan { why });
    if let Repository::Git(git) = source
        && let Some(btree) = git.btree()
    {
        return refused(format!("{}: stock git does not read objects in a B-tree", btree.display()));
    }
    if plan.layouts().iter().any(|layout| layout.store == StoreKind::Btree) {
        return refused(
            "stock git reads packs and loose objects, but no B-trees: expected --store pack or loose".into(),
        );
    }
    let recorded = source.recorded_spec();
    if let Some(spec) = specs.iter().chain(&recorded).find(|spec| spec.uses_bases()) {
        return refused(format!(
            "{spec}: stock git cannot read it, since its deltas need the content of their base, which git does not pass to zlib"
        ));
    }
    if let Some(spec) = specs.iter().chain(&recorded).find(|spec| spec.uses_numbers()) {
        return refused(format!("{spec}: stock git cannot read it, since its objects name others by number"));
    }
    if !is_read_by_plain_git(&plan.baseline) {
        let baseline = &plan.baseline;
        return refused(format!("{baseline}: expected a baseline that git reads without the library, such as zlib:6"));
    }
    Ok(())
}

fn is_read_by_plain_git(baseline: &CodecSpec) -> bool {
    let is_zlib = |algorithm: Algorithm| algorithm.is_zlib_family();
    baseline.choices().all(|choice| is_zlib(choice.algorithm())) && !baseline.uses_dictionaries()
}

fn check_hg(plan: &BenchPlan, specs: &[CodecSpec]) -> Result<(), BenchError> {
    let Some(stock) = &plan.stock else { return Ok(()) };
    let has_extension = stock.hg_extension.is_some();
    let refused = |why: String| Err(BenchError::Plan { why });
    if !stock.zlibs.is_empty() {
        return refused("--zlib: hg only has its own zlib and that of the extension".to_owned());
    }
    let is_plain = |spec: &CodecSpec| ENGINES.contains(&spec.revlog_engine().name());
    for spec in specs {
        if spec.uses_bases() || !spec.is_uniform() {
            return refused(format!("{spec}: stock hg reads no dictionaries, bases or codecs by kind"));
        }
        if !is_plain(spec) && !has_extension {
            return refused(format!(
                "{spec}: hg has this codec only with repackbench's extension: --hg-extension names it, \
                 `cargo xtask hg-extension` builds it"
            ));
        }
    }
    match specs.first().filter(|baseline| !is_plain(baseline)) {
        Some(baseline) => {
            refused(format!("{baseline}: expected a baseline that hg reads without the extension, such as zlib:6"))
        }
        None => Ok(()),
    }
}
