//! The bytes that a new search for deltas saves, beside the span of zlib's levels: `--repack`.

use repackbench_client::{GitProgram, HgProgram};
use repackbench_reader::Repository;
use repackbench_records::{
    Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, Figure, SizeRecord, Statement, Unit,
};
use repackbench_timing::sizes::measure as measure_size;
use repackbench_writer::{DeltaRecomputer, cached_recomputed};

use crate::{
    Context, ExperimentError,
    variants::{of_variant, spec, variant},
};

/// zlib's lowest and highest level, and its default.
const LEVELS: [&str; 3] = ["zlib:1", "zlib:6", "zlib:9"];
const DEFAULT: &str = "zlib:6";

/// Sizes by name.
pub(crate) struct Deltas(Vec<(String, SizeRecord)>);

/// Makes a variant of each level with the source's deltas, and one of the default level with deltas that git or hg searches for again.
pub(crate) fn measure(context: &Context<'_>) -> Result<Deltas, ExperimentError> {
    let options = context.options;
    let recomputer = match context.source {
        Repository::Git(_) => DeltaRecomputer::git(GitProgram::new(&options.git)?),
        Repository::Hg(_) => DeltaRecomputer::hg(HgProgram::new(&options.hg, options.hg_extension.as_deref())?),
    };
    let mut sizes = vec![("as found".to_owned(), measure_size(context.source, "as found")?)];
    for level in LEVELS {
        let variant = variant(context, &spec(level)?)?;
        sizes.push((level.to_owned(), measure_size(&Repository::open(variant.path())?, level)?));
    }
    let recomputed = cached_recomputed(context.cache, context.source, &spec(DEFAULT)?, &recomputer, context.control())
        .map_err(of_variant)?;
    let name = recomputed_name();
    sizes.push((name.clone(), measure_size(&Repository::open(recomputed.path())?, &name)?));
    Ok(Deltas(sizes))
}

fn recomputed_name() -> String {
    format!("{DEFAULT}, rechosen")
}

pub(crate) fn table(deltas: &Deltas) -> ExperimentTable {
    let column = |name: &str| ExperimentColumn { name: name.to_owned(), unit: Unit::Bytes };
    let rows = deltas.0.iter().map(|(label, size)| ExperimentRow {
        label: label.clone(),
        published: vec![None, None],
        measured: [size.pack_bytes().saturating_add(size.revlog_index_bytes), size.total_bytes]
            .map(|bytes| Some(Estimate::exact(bytes as f64)))
            .to_vec(),
    });
    ExperimentTable {
        title: Statement::new("deltas-table").into(),
        columns: vec![column("packs or revlogs"), column("all files")],
        rows: rows.collect(),
    }
}

/// The conclusion of the table.
pub(crate) fn note(deltas: &Deltas) -> Option<Statement> {
    let bytes = |name: &str| {
        let (_, size) = deltas.0.iter().find(|(found, _)| found == name)?;
        (size.total_bytes > 0).then_some(size.total_bytes as f64)
    };
    let (default, recomputed) = (bytes(DEFAULT)?, bytes(&recomputed_name())?);
    let levels: Vec<f64> = LEVELS.iter().filter_map(|level| bytes(level)).collect();
    let (least, most) = (levels.iter().copied().reduce(f64::min)?, levels.iter().copied().reduce(f64::max)?);
    let change = 1.0 - recomputed / default;
    let id = if change < 0.0 { "new-search-costs" } else { "new-search-saves" };
    let note = Statement::new(id).with("spec", DEFAULT).with("change", Figure::share(change.abs()));
    Some(note.with("span", Figure::share((most - least) / default)))
}

#[cfg(test)]
mod tests {
    use repackbench_report::sections::sentence;

    use super::*;

    #[test]
    fn note_compares_a_new_search_with_the_levels() {
        let size = |name: &str, total_bytes| (name.to_owned(), SizeRecord { total_bytes, ..SizeRecord::default() });
        let sizes =
            [("as found", 1010), ("zlib:1", 1050), ("zlib:6", 1000), ("zlib:9", 990), ("zlib:6, rechosen", 720)];
        let deltas = Deltas(sizes.map(|(name, bytes)| size(name, bytes)).to_vec());
        let text = sentence(&note(&deltas).unwrap());
        assert!(text.contains("saves 28 % of") && text.ends_with("span 6.0 %."), "{text}");
        assert_eq!(table(&deltas).rows.len(), 5);
        assert_eq!(note(&Deltas(vec![])), None);
    }
}
