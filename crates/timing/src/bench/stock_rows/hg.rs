//! Rows that stock hg reads.

use std::{rc::Rc, time::Duration};

use repackbench_client::check_hg;
use repackbench_reader::{Repository, hg::HgRepository};
use repackbench_records::{Role, Variant};
use repackbench_writer::hg::recompute::is_native_to_hg;

use super::super::{context::BenchContext, rows::Row};
use crate::{
    BenchError,
    arms::stock::{Hg, HgRow, RowClient, StockClient},
    workloads::WorkloadError,
};

/// CPU time of an hg that does nothing, without the extension and with it. Rows differ otherwise only in settings,
/// which cost nothing.
#[derive(Debug, Default)]
pub(super) struct Starts([Option<Duration>; 2]);

impl Starts {
    fn of(&mut self, context: &BenchContext<'_>, client: &HgRow) -> Result<Duration, BenchError> {
        let [plain, extended] = &mut self.0;
        let known = if client.client().library { extended } else { plain };
        match known {
            Some(start) => Ok(*start),
            None => Ok(*known.insert(context.runner().start_of(client)?)),
        }
    }
}

/// How a row is read.
pub(super) struct Reader {
    has_extension: bool,
    role: Role,
}

/// The readers of a variant: hg as it is, if it can, and hg with the extension, if there is one.
pub(super) fn readers(hg: &Rc<Hg>, variant: &Row) -> Result<Vec<Reader>, BenchError> {
    let is_plain = check_hg(&open(variant)?, None).is_ok();
    let role = match variant.variant.role {
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
    context: &BenchContext<'_>,
    variant: &Row,
    reader: Reader,
    number: usize,
    starts: &mut Starts,
) -> Result<Row, BenchError> {
    let Reader { has_extension, role } = reader;
    let spec = variant.place.spec.as_ref().filter(|spec| has_extension || is_native_to_hg(spec));
    let codec = spec.map(|spec| spec.for_revlogs().canonical());
    let client = HgRow::new(hg, &open(variant)?, codec.as_deref(), has_extension, number)?;
    let start = starts.of(context, &client)?;
    let decoder = match has_extension {
        true => variant.decoder.clone(),
        false => format!("that of {}", client.client().version),
    };
    let read = Variant { role, client: Some(client.client().clone()), ..variant.variant.clone() };
    Ok(variant.read_by(RowClient { client: Box::new(client), start }, read, decoder))
}

fn open(variant: &Row) -> Result<HgRepository, BenchError> {
    let folder = &variant.place.folder;
    match Repository::open(folder)? {
        Repository::Hg(repository) => Ok(*repository),
        Repository::Git(_) => {
            let why = format!("{}: expected a Mercurial repository", folder.display());
            Err(WorkloadError::Refused { why }.into())
        }
    }
}
