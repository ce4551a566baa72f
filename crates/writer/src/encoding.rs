//! The spec of a conversion, with its dictionaries.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use repackbench_codec::{
    AssignedDictionaries, ChunkDecoder, ChunkEncoder, ChunkKind, CodecSpec, DICTIONARY_REQUIREMENT, Dictionaries,
    Dictionary, KindEncoders, RevlogDecoder, RevlogEncoder, ZlibReader,
};
use repackbench_reader::{
    ReaderError, Repository,
    dictionaries::{DICTIONARY_FOLDER, TABLE_FILE, TableLine},
};

use crate::{Result, WriterError, new_file::write_read_only};

/// A spec with its dictionaries, which may have been trained for this one conversion.
#[derive(Debug, Clone)]
pub struct Encoding {
    spec: CodecSpec,
    assigned: AssignedDictionaries,
    /// CPU time of this process while it trained them.
    training_cpu: Duration,
    training: TrainingKind,
    /// The bytes that the dictionaries take, once they are known. Specs with the same dictionaries share it.
    dictionary_bytes: Arc<OnceLock<u64>>,
}

/// How the dictionaries of an encoding were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainingKind {
    /// As a conversion makes them, or there are none.
    Full,
    /// With less effort, so that some may be others.
    LessEffort,
    /// Cut from those of another codec.
    Cut,
}

impl Encoding {
    /// `spec` without dictionaries.
    pub fn plain(spec: &CodecSpec) -> Self {
        Encoding::new(spec, AssignedDictionaries::default())
    }

    /// `spec` with the dictionaries that were made for it.
    pub fn new(spec: &CodecSpec, assigned: AssignedDictionaries) -> Self {
        Encoding {
            spec: spec.clone(),
            assigned,
            training_cpu: Duration::ZERO,
            training: TrainingKind::Full,
            dictionary_bytes: Arc::default(),
        }
    }

    /// `spec` with the dictionaries that `variant` was written with, each for the kinds that the dictionary table
    /// lists.
    ///
    /// # Errors
    /// The dictionaries cannot be read.
    pub fn of_variant(variant: &Repository, spec: &CodecSpec) -> Result<Self> {
        let (dictionaries, folder) = match variant {
            Repository::Git(git) => {
                let objects = git.object_dirs().first().cloned().unwrap_or_default();
                (git.dictionaries()?, objects.join("info").join(DICTIONARY_FOLDER))
            }
            Repository::Hg(hg) => (hg.dictionaries()?, hg.store_dir().join(DICTIONARY_FOLDER)),
        };
        let by_kind = if dictionaries.is_empty() { BTreeMap::new() } else { assigned_kinds(&folder)? };
        Ok(Encoding::new(spec, AssignedDictionaries { dictionaries, by_kind }))
    }

    /// The spec.
    pub fn spec(&self) -> &CodecSpec {
        &self.spec
    }

    /// The same dictionaries under another spec. They were trained for one that takes dictionaries of the same kind and
    /// length.
    pub fn under(&self, spec: &CodecSpec) -> Self {
        Encoding { spec: spec.clone(), ..self.clone() }
    }

    /// The same, whose dictionaries took this CPU time to train.
    pub(crate) fn trained_in(self, training_cpu: Duration) -> Self {
        Encoding { training_cpu, ..self }
    }

    /// The same, with dictionaries that were made in this way.
    pub(crate) fn made_by(self, training: TrainingKind) -> Self {
        Encoding { training, ..self }
    }

    /// How the dictionaries were made.
    pub fn training(&self) -> TrainingKind {
        self.training
    }

    /// CPU time of this process while it trained the dictionaries, or those that they were cut from; zero if none were
    /// trained now.
    pub fn training_cpu(&self) -> Duration {
        self.training_cpu
    }

    /// The dictionaries.
    pub fn dictionaries(&self) -> &Dictionaries {
        &self.assigned.dictionaries
    }

    /// The dictionary for chunks of `kind`, if they have one.
    pub(crate) fn dictionary_of(&self, kind: ChunkKind) -> Option<&Dictionary> {
        self.assigned.dictionaries.get(*self.assigned.by_kind.get(&kind)?)
    }

    /// The bytes that the dictionaries take in a variant.
    ///
    /// # Errors
    /// The codec of dictionaries fails.
    pub fn dictionary_bytes(&self) -> Result<u64> {
        if let Some(bytes) = self.dictionary_bytes.get() {
            return Ok(*bytes);
        }
        let mut encoder = ChunkEncoder::new(&CodecSpec::for_dictionaries())?;
        let mut stored = Vec::new();
        for dictionary in self.assigned.dictionaries.iter() {
            encoder.encode(dictionary.bytes(), &mut stored)?;
        }
        Ok(*self.dictionary_bytes.get_or_init(|| stored.len() as u64))
    }

    /// The encoding of loose objects.
    pub(crate) fn for_loose_objects(&self) -> Self {
        Encoding { spec: self.spec.for_loose_objects(), ..self.clone() }
    }

    /// The encoding without dictionaries for deltas, for a store that has no deltas.
    pub(crate) fn for_whole_objects(&self) -> Self {
        let of_whole = |number: u8| self.assigned.by_kind.iter().any(|(kind, of)| *of == number && !kind.is_delta);
        let numbered = self.assigned.dictionaries.iter().zip(0u8..);
        let kept: Vec<(&Dictionary, u8)> = numbered.filter(|(_, number)| of_whole(*number)).collect();
        let new_number = |old: u8| kept.iter().zip(0u8..).find(|((_, kept), _)| *kept == old).map(|(_, new)| new);
        let by_kind = self.assigned.by_kind.iter().filter(|(kind, _)| !kind.is_delta);
        let by_kind = by_kind.filter_map(|(kind, number)| Some((*kind, new_number(*number)?))).collect();
        let dictionaries = Dictionaries::new(kept.iter().map(|(dictionary, _)| (*dictionary).clone()));
        Encoding {
            assigned: AssignedDictionaries { dictionaries, by_kind },
            dictionary_bytes: Arc::default(),
            ..self.clone()
        }
    }

    /// Encoders for one thread.
    pub(crate) fn encoders(&self) -> KindEncoders {
        KindEncoders::new(&self.spec, &self.assigned)
    }

    /// An encoder for a payload that is too long for dictionaries and bases.
    pub(crate) fn streaming_encoder(&self, kind: ChunkKind) -> Result<ChunkEncoder> {
        Ok(ChunkEncoder::for_choice(self.spec.choice(kind), None)?)
    }

    /// A decoder for the output of the encoders. Nothing is timed here, so it reads zlib streams with the fastest
    /// reader. If another implementation wrote the stream, that is a second opinion too.
    pub(crate) fn decoder(&self) -> ChunkDecoder {
        ChunkDecoder::new(ZlibReader::Libdeflate).with_dictionaries(&self.assigned.dictionaries)
    }

    /// Encoders of revlog chunks for one thread.
    pub(crate) fn revlog_encoders(&self) -> KindEncoders<RevlogEncoder> {
        KindEncoders::new(&self.spec, &self.assigned)
    }

    /// A decoder for the output of the revlog encoders.
    pub(crate) fn revlog_decoder(&self) -> RevlogDecoder {
        RevlogDecoder::new(ZlibReader::Libdeflate).with_dictionaries(&self.assigned.dictionaries)
    }

    /// The requirements that a Mercurial repository needs for chunks of this encoding.
    pub(crate) fn revlog_requirements(&self) -> impl Iterator<Item = &'static str> {
        let of_dictionaries = (!self.assigned.dictionaries.is_empty()).then_some(DICTIONARY_REQUIREMENT);
        self.spec.revlog_requirements().into_iter().chain(of_dictionaries)
    }

    /// Creates `folder` and writes the dictionaries into it. Does nothing if there are no dictionaries.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn write_dictionaries(&self, folder: &Path) -> Result<()> {
        if self.assigned.dictionaries.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(|e| WriterError::io("create", folder, e))?;
        let mut encoder = ChunkEncoder::new(&CodecSpec::for_dictionaries())?;
        let mut table = String::new();
        let mut stored = Vec::new();
        for (number, dictionary) in self.assigned.dictionaries.iter().enumerate() {
            let kinds = self.assigned.by_kind.iter().filter(|(_, of)| usize::from(**of) == number);
            let kinds: Vec<String> = kinds.map(|(kind, _)| kind.to_string()).collect();
            let line = TableLine::of(dictionary.bytes(), kinds.join(","));
            stored.clear();
            encoder.encode(dictionary.bytes(), &mut stored)?;
            write_read_only(&folder.join(line.file_name()), &stored)?;
            table.push_str(&line.to_text(number));
        }
        write_read_only(&folder.join(TABLE_FILE), table.as_bytes())
    }
}

/// The number of the dictionary of each kind, from the table in `folder`, which was read and checked before.
fn assigned_kinds(folder: &Path) -> Result<BTreeMap<ChunkKind, u8>> {
    let table = folder.join(TABLE_FILE);
    let text = fs::read_to_string(&table).map_err(|error| ReaderError::io("read", &table, error))?;
    let mut by_kind = BTreeMap::new();
    for (number, line) in (0..=u8::MAX).zip(text.lines()) {
        let kinds = line.splitn(4, ' ').nth(3).unwrap_or_default();
        by_kind.extend(kinds.split(',').filter_map(ChunkKind::from_name).map(|kind| (kind, number)));
    }
    Ok(by_kind)
}
