//! `floor:WORKLOAD`: the codec floor, the smallest possible cost of a codec in a workload.
//!
//! The chunks that the workload decodes are recorded once, untimed. A run then decodes exactly those chunks again, in
//! the same order, each as often as the workload did: with the reader's own contexts and dictionaries, from contiguous
//! stored bytes in memory. Chunks that use the content of their base find it in memory. Nothing is looked up, applied,
//! cached, hashed or written. Its time as a share of the workload's is the codec's share.

use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use repackbench_reader::{AccessTrace, ChunkInMemory, History, ReaderError, Recording, Repository, TracedDecode};
use repackbench_records::{ComparedTime, WorkloadLabel};
use rustc_hash::FxHashMap;

use super::{Counts, Observer, VariantPlace, Workload, WorkloadError};

/// The limit of stored bytes that a floor holds in memory.
const MOST_STORED: usize = 4 << 30;

/// Programs of other variants are kept until all take more than this number of bytes.
const MOST_KEPT: usize = 1 << 30;

/// Everything that a run on one variant needs.
#[derive(Debug)]
pub(super) struct Program {
    files: Vec<PathBuf>,
    steps: Vec<Step>,
    /// The stored bytes of every chunk, once, in the order of their first use.
    stored: Vec<u8>,
    bases: Vec<Vec<u8>>,
}

/// One call of a decoder.
#[derive(Debug)]
struct Step {
    decode: TracedDecode,
    /// The start of its stored bytes in [`Program::stored`].
    start: usize,
}

impl Program {
    pub(super) fn new(trace: AccessTrace) -> Result<Self, WorkloadError> {
        if trace.bases_left_out > 0 {
            let why = format!("the bases of {} chunks take too much memory", trace.bases_left_out);
            return Err(WorkloadError::Refused { why });
        }
        let mut program = Program {
            files: trace.files.into_iter().map(|file| file.path).collect(),
            steps: Vec::with_capacity(trace.decodes.len()),
            stored: Vec::new(),
            bases: trace.bases,
        };
        let mut starts = FxHashMap::default();
        let mut open: Option<(u32, File)> = None;
        for decode in trace.decodes {
            // An empty chunk of a revlog starts where the next one does.
            let key = (decode.file, decode.offset, decode.stored_len);
            let start = match starts.get(&key) {
                Some(start) => *start,
                None => {
                    let start = program.load(&decode, &mut open)?;
                    starts.insert(key, start);
                    start
                }
            };
            program.steps.push(Step { decode, start });
        }
        Ok(program)
    }

    /// Reads the stored bytes of `decode`; `open` is the last file that was read.
    fn load(&mut self, decode: &TracedDecode, open: &mut Option<(u32, File)>) -> Result<usize, ReaderError> {
        let path = self.files.get(decode.file as usize).map(PathBuf::as_path).unwrap_or(Path::new(""));
        let failed = |action| move |error| ReaderError::io(action, path, error);
        if open.as_ref().is_none_or(|(file, _)| *file != decode.file) {
            *open = Some((decode.file, File::open(path).map_err(failed("open"))?));
        }
        let start = self.stored.len();
        let len = usize::try_from(decode.stored_len).unwrap_or(usize::MAX);
        // It was read before, so it has this length.
        if start.saturating_add(len) > MOST_STORED {
            return Err(failed("hold the chunks of")(io::ErrorKind::OutOfMemory.into()));
        }
        self.stored.try_reserve(len).map_err(|_| failed("read")(io::ErrorKind::OutOfMemory.into()))?;
        self.stored.resize(start + len, 0);
        if let (Some((_, file)), Some(room)) = (open, self.stored.get_mut(start..)) {
            file.read_exact_at(room, decode.offset).map_err(failed("read"))?;
        }
        Ok(start)
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The stored bytes that all steps decode.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.decode.stored_len).sum()
    }

    /// Runs the steps with these numbers, each of which decodes to `payload`.
    pub(super) fn run(
        &self,
        steps: Range<usize>,
        history: &mut dyn History,
        payload: &mut Vec<u8>,
    ) -> Result<(), WorkloadError> {
        for Step { decode, start } in self.steps.get(steps).unwrap_or_default() {
            let end = start.saturating_add(usize::try_from(decode.stored_len).unwrap_or(usize::MAX));
            let base = decode.base.and_then(|number| self.bases.get(number as usize)).map(Vec::as_slice);
            let chunk = ChunkInMemory {
                file: self.files.get(decode.file as usize).map(PathBuf::as_path).unwrap_or(Path::new("")),
                decode,
                stored: self.stored.get(*start..end).unwrap_or_default(),
                base,
            };
            history.decode_again(&chunk, payload)?;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.stored.len() + self.bases.iter().map(Vec::len).sum::<usize>() + self.steps.len() * size_of::<Step>()
    }
}

/// The floor of another workload.
pub(super) struct Floor {
    inner: Box<dyn Workload>,
    /// The program for each variant and its decoders; the most recently used is the last.
    programs: Vec<(VariantPlace, Program)>,
    payload: Vec<u8>,
}

impl Floor {
    pub(super) fn new(inner: Box<dyn Workload>) -> Self {
        Floor { inner, programs: Vec::new(), payload: Vec::new() }
    }

    /// Records what the workload decodes on `place`, which is opened again for that.
    fn record(&mut self, place: &VariantPlace) -> Result<Program, WorkloadError> {
        let mut history = Repository::open(&place.folder)?.history(place.decoders)?;
        history.set_delta_cache(place.delta_cache);
        let (trace, _) = super::record_accesses(self.inner.as_mut(), history.as_mut(), place, Recording::WithBases)?;
        Program::new(trace)
    }
}

impl Workload for Floor {
    fn label(&self) -> WorkloadLabel {
        let label = self.inner.label();
        WorkloadLabel { name: format!("floor:{}", label.name), ..label }
    }

    /// The same as the workload's, so that shares can be computed.
    fn compared_time(&self) -> ComparedTime {
        self.inner.compared_time()
    }

    /// Records what the workload decodes, unless that is known already.
    fn prepare(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        let key = |place: &VariantPlace| (place.folder.clone(), place.decoders, place.delta_cache);
        let is_same = |known: &VariantPlace| key(known) == key(place);
        if let Some(at) = self.programs.iter().position(|(known, _)| is_same(known)) {
            let last = self.programs.remove(at);
            self.programs.push(last);
            return Ok(());
        }
        let program = self.record(place)?;
        let mut memory = program.memory();
        let fits = |(_, kept): &&(VariantPlace, Program)| {
            memory = memory.saturating_add(kept.memory());
            memory <= MOST_KEPT
        };
        let kept = self.programs.iter().rev().take_while(fits).count();
        self.programs.drain(..self.programs.len() - kept);
        self.programs.push((place.clone(), program));
        Ok(())
    }

    fn run(&mut self, history: &mut dyn History, _observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let (_, program) = self.programs.last().ok_or_else(WorkloadError::not_prepared)?;
        program.run(0..program.len(), history, &mut self.payload)
    }

    /// The number of chunks differs with recomputed deltas, and the number of stored bytes with each codec.
    fn extra(&self) -> Counts {
        let Some((_, program)) = self.programs.last() else { return Counts::new() };
        let (chunks, stored) = (program.len() as u64, program.stored_bytes());
        Counts::from([("chunks decoded".to_owned(), chunks), ("stored bytes decoded".to_owned(), stored)])
    }
}
