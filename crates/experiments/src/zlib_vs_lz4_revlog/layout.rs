//! The layout of 2012: no general deltas, no sparse revlogs. The copy is made by hg itself.

use std::{fs, process::Command};

use repackbench_client::{HgProgram, run};
use repackbench_codec::FORMAT_VERSION;
use repackbench_reader::Repository;
use repackbench_records::Statement;
use repackbench_timing::arms::stock::LATER_LAYOUTS;
use repackbench_writer::{
    ConvertJob, Layout, WriterError,
    cache::{GetOrMakeError, VariantDir, VariantInputs, VariantOrigin},
    convert, fingerprint,
};

use super::BASELINE;
use crate::{
    Context, ExperimentError, probe,
    variants::{of_variant, spec},
};

/// Its spec in the cache.
const SPEC: &str = "zlib:6, layout of 2012";

/// The settings with which hg writes as it did then, in addition to those without [`LATER_LAYOUTS`].
const SETTINGS: [&str; 2] = ["format.use-persistent-nodemap=no", "format.revlog-compression=zlib"];

/// Makes `command`, which is hg, create repositories as it did then.
pub(super) fn write_as_then(command: &mut Command) {
    for setting in LATER_LAYOUTS.map(|(_, setting)| setting).into_iter().chain(SETTINGS) {
        command.args(["--config", setting]);
    }
}

/// A copy in the layout of 2012.
pub(super) struct OldLayout {
    pub(super) repository: Repository,
    /// Kept from being pruned.
    _in_use: VariantDir,
}

/// Makes the copy, or takes it from the cache. `None`, and a note, if hg is missing or cannot make it.
pub(super) fn make(context: &Context<'_>, notes: &mut Vec<Statement>) -> Result<Option<OldLayout>, ExperimentError> {
    let made = HgProgram::new(&context.options.hg, None)
        .map_err(|error| GetOrMakeError::Make(WriterError::from(error)).into())
        .and_then(|hg| cached(context, hg.version()));
    let in_use = match made {
        Ok(in_use) => in_use,
        Err(Stopped::Hg(why)) => {
            notes.push(Statement::new("old-layout-not-made").with("error", why));
            return Ok(None);
        }
        Err(Stopped::Other(error)) => return Err(error),
    };
    let repository = Repository::open(in_use.path())?;
    if let Repository::Hg(found) = &repository
        && let Some((later, _)) = LATER_LAYOUTS.iter().find(|(later, _)| found.requirements().contains(later))
    {
        notes.push(Statement::new("old-layout-not-written").with("requirement", *later));
        return Ok(None);
    }
    Ok(Some(OldLayout { repository, _in_use: in_use }))
}

/// Why there is no copy.
enum Stopped {
    /// hg could not make it.
    Hg(String),
    Other(ExperimentError),
}

impl From<GetOrMakeError<WriterError>> for Stopped {
    fn from(error: GetOrMakeError<WriterError>) -> Self {
        match error {
            GetOrMakeError::Make(error @ WriterError::Program { .. }) => Stopped::Hg(error.to_string()),
            error => Stopped::Other(of_variant(error)),
        }
    }
}

impl From<ExperimentError> for Stopped {
    fn from(error: ExperimentError) -> Self {
        Stopped::Other(error)
    }
}

/// The copy through the cache. Its key holds the state of the source and the version of hg.
fn cached(context: &Context<'_>, version: &str) -> Result<VariantDir, Stopped> {
    let state = fingerprint(context.source).map_err(ExperimentError::from)?;
    let inputs = VariantInputs {
        format_version: FORMAT_VERSION,
        spec: SPEC.to_owned(),
        encoder: format!("hg {version}"),
        pack_checksums: vec![state.to_string().into_bytes()],
        ..VariantInputs::default()
    };
    let folder = context.source.folder();
    let source = fs::canonicalize(folder).map_err(|source| ExperimentError::Io {
        action: "resolve",
        path: folder.to_owned(),
        source,
    })?;
    let origin = VariantOrigin {
        source,
        spec: SPEC.to_owned(),
        format_version: FORMAT_VERSION,
        state: None,
        encoder: Some(inputs.encoder.clone()),
    };
    let scratch = context.cache.scratch().map_err(GetOrMakeError::Cache)?;
    let baseline = spec(BASELINE)?;
    let variant = context.cache.get_or_make(&inputs.key(), &origin, |target| {
        // hg writes caches beside what it reads.
        let copy = scratch.path().join("copy");
        convert(context.source, &baseline, Layout::default(), &ConvertJob::new(&copy, context.control()))?;
        let mut command = probe::hg(context, scratch.path());
        write_as_then(&mut command);
        command.args(["clone", "-q", "--pull", "-U"]).arg(&copy).arg(target);
        run(command, "hg clone --pull", &|| context.progress.is_cancelled())?;
        Ok(None)
    })?;
    Ok(variant)
}
