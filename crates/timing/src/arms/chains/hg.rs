//! The delta chains of revlogs.

use std::collections::HashMap;

use repackbench_codec::Decoders;
use repackbench_reader::{
    ObjectKind, ReaderError,
    hg::{
        HgRepository,
        revlog::{Revlog, TextReader},
    },
};

use super::{ChainStore, Location, ObjectName, VisitObject};

/// The revlogs of a repository. A location is the number of a revlog and a revision. Only one is open at a time: there
/// may be more revlogs than a process can open files.
pub(super) struct RevlogChains<'a> {
    repository: &'a HgRepository,
    numbers: HashMap<(ObjectKind, &'a [u8]), usize>,
    texts: TextReader,
    open: Option<(usize, Revlog)>,
}

impl<'a> RevlogChains<'a> {
    /// The revlogs of `repository`.
    ///
    /// # Errors
    /// A dictionary cannot be read.
    pub(super) fn open(repository: &'a HgRepository, decoders: Decoders) -> Result<Self, ReaderError> {
        let names = repository.revlogs().iter().map(|files| (files.kind, files.path.as_slice()));
        Ok(RevlogChains {
            repository,
            numbers: names.zip(0..).collect(),
            texts: TextReader::new(repository.decoder(decoders)?),
            open: None,
        })
    }

    /// The revlog `number`; `None` if it does not exist.
    fn revlog(&mut self, number: usize) -> Result<Option<&Revlog>, ReaderError> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            let Some(files) = self.repository.revlogs().get(number) else { return Ok(None) };
            self.open = Some((number, Revlog::open(files)?));
        }
        Ok(self.open.as_ref().map(|(_, revlog)| revlog))
    }
}

impl ChainStore for RevlogChains<'_> {
    fn for_each(&mut self, visit: &mut VisitObject<'_>) -> Result<(), ReaderError> {
        for file in 0..self.repository.revlogs().len() {
            let Some(revlog) = self.revlog(file)? else { continue };
            for (position, entry) in revlog.entries().iter().enumerate() {
                visit(Location { file, position }, revlog.chain_length(position), u64::from(entry.stored_len));
            }
        }
        Ok(())
    }

    fn name(&mut self, location: Location) -> Result<Option<ObjectName>, ReaderError> {
        let Some(revlog) = self.revlog(location.file)? else { return Ok(None) };
        let (files, revision) = (revlog.files(), location.position);
        let node = revlog.entry(revision)?.node;
        let (kind, path) = (files.kind, files.path.clone());
        Ok(Some(ObjectName::Revision { kind, path, revision, node }))
    }

    fn find(&mut self, name: &ObjectName, chain: u32) -> Result<Result<Location, String>, ReaderError> {
        let ObjectName::Revision { kind, path, revision, node } = name else {
            return Ok(Err("it is a Mercurial repository".to_owned()));
        };
        let absent = || Ok(Err(format!("it has no {name}")));
        let Some(file) = self.numbers.get(&(*kind, path.as_slice())).copied() else { return absent() };
        let Some(revlog) = self.revlog(file)? else { return absent() };
        let Some(entry) = revlog.entries().get(*revision) else { return absent() };
        if entry.node != *node {
            return Ok(Err(format!("{name} has the node {} instead of {node}", entry.node)));
        }
        let deltas = revlog.chain_length(*revision);
        Ok(match deltas == chain {
            true => Ok(Location { file, position: *revision }),
            false => Err(format!("{name} is at the end of {deltas} deltas instead of {chain}")),
        })
    }

    fn prepare(&mut self, location: Location) -> Result<(), ReaderError> {
        self.revlog(location.file).map(|_| ())
    }

    fn read(&mut self, location: Location, content: &mut Vec<u8>) -> Result<(), ReaderError> {
        self.texts.clear_caches();
        self.prepare(location)?;
        let Some((number, revlog)) = self.open.as_ref() else { return Ok(()) };
        self.texts.read(revlog, *number, location.position, content)
    }
}
