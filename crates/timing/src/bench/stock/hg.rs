//! Rows that stock hg reads.

use std::{rc::Rc, time::Duration};

use repackbench_client::check_hg;
use repackbench_codec::CodecSpec;
use repackbench_reader::{Repository, hg::HgRepository};
use repackbench_records::{Role, Variant};
use repackbench_writer::hg::recompute::is_native_to_hg;

use super::{
    super::{BenchError, BenchPlan, rows::Subject, runs::Session},
    StockSubject,
};
use crate::{
    arms::stock::{Hg, HgRow, StockClient},
    workloads::WorkloadError,
};

/// The engines that hg has without an extension.
const ENGINES: [&str; 3] = ["none", "zlib", "zstd"];

/// Refuses what stock hg cannot do, before anything is made.
pub(super) fn check(plan: &BenchPlan, specs: &[CodecSpec]) -> Result<(), BenchError> {
    let Some(stock) = &plan.stock else { return Ok(()) };
    let has_extension = stock.hg_extension.is_some();
    let refused = |why: String| Err(WorkloadError::Refused { why }.into());
    if !stock.zlibs.is_empty() {
        return refused("--zlib: hg has its own zlib, and that of the extension's codec".to_owned());
    }
    let is_plain = |spec: &CodecSpec| ENGINES.contains(&spec.revlog_engine().name());
    for spec in specs {
        if spec.uses_bases() || !spec.is_uniform() || spec.to_string().contains("dict=") {
            return refused(format!("{spec}: stock hg reads no dictionaries, bases and codecs by kind"));
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
            refused(format!("{baseline}: hg without the extension has to read the baseline, such as zlib:6"))
        }
        None => Ok(()),
    }
}

/// CPU time of an hg that does nothing, without the extension and with it. Settings, all in which rows differ besides, cost nothing.
#[derive(Debug, Default)]
pub(super) struct Starts([Option<Duration>; 2]);

impl Starts {
    fn of(&mut self, session: &Session<'_>, row: &HgRow) -> Result<Duration, BenchError> {
        let [plain, extended] = &mut self.0;
        let known = if row.client().library { extended } else { plain };
        match known {
            Some(start) => Ok(*start),
            None => Ok(*known.insert(session.start_of(row)?)),
        }
    }
}

/// How a row is read.
pub(super) struct Reader {
    has_extension: bool,
    role: Role,
}

/// Who reads a variant: hg as it is where that reads it, and hg with the extension where there is one.
pub(super) fn readers(hg: &Rc<Hg>, subject: &Subject) -> Result<Vec<Reader>, BenchError> {
    let is_plain = check_hg(&open(subject)?, None).is_ok();
    let role = match subject.variant.role {
        Role::AsFound => return Ok(vec![Reader { has_extension: !is_plain, role: Role::AsFound }]),
        Role::Baseline | Role::BaselineAgain => Role::Baseline,
        Role::Candidate => Role::Candidate,
    };
    let plain = is_plain.then_some(Reader { has_extension: false, role });
    let extended = hg.has_extension().then_some(Reader { has_extension: true, role: Role::Candidate });
    Ok(plain.into_iter().chain(extended).collect())
}

pub(super) fn row(
    hg: &Rc<Hg>,
    session: &Session<'_>,
    subject: &Subject,
    reader: Reader,
    number: usize,
    starts: &mut Starts,
) -> Result<Subject, BenchError> {
    let Reader { has_extension, role } = reader;
    let spec = subject.place.spec.as_ref().filter(|spec| has_extension || is_native_to_hg(spec));
    let codec = spec.map(|spec| spec.for_revlogs().canonical());
    let row = HgRow::new(hg, &open(subject)?, codec.as_deref(), has_extension, number)?;
    let start = starts.of(session, &row)?;
    let decoder = match has_extension {
        true => subject.decoder.clone(),
        false => format!("that of {}", row.client().version),
    };
    let variant = Variant { role, client: Some(row.client().clone()), ..subject.variant.clone() };
    Ok(subject.read_by(StockSubject { client: Box::new(row), start }, variant, decoder))
}

fn open(subject: &Subject) -> Result<HgRepository, BenchError> {
    let folder = &subject.place.folder;
    match Repository::open(folder)? {
        Repository::Hg(repository) => Ok(*repository),
        Repository::Git(_) => {
            let why = format!("{}: expected a Mercurial repository", folder.display());
            Err(WorkloadError::Refused { why }.into())
        }
    }
}
