//! Reads the texts of one repository and checks them against their nodes.

use std::collections::HashSet;

use repackbench_codec::{Dictionaries, RevlogDecoder, ZlibReader};

use crate::{
    ReaderError,
    hg::revlog::{Revlog, TextReader},
    memory::{self, TurnTaker},
};

/// The reader of one repository on one thread.
pub(super) struct TextCheck {
    reader: TextReader,
    text: Vec<u8>,
    /// The unreadable revisions of the current revlog.
    unreadable: HashSet<usize>,
}

/// A text that cannot be read, or that does not have its node.
pub(super) struct Damage {
    pub(super) error: ReaderError,
    /// Whether it is only a consequence: the base of the delta was damaged, which has been returned before.
    pub(super) is_of_base: bool,
}

impl TextCheck {
    /// A reader for a repository with these dictionaries, on a thread that has `readers` of them.
    pub(super) fn new(dictionaries: &Dictionaries, readers: u64, turn: &TurnTaker) -> Self {
        // No codec is timed here, so the fastest available reader decodes zlib streams.
        let decoder = RevlogDecoder::new(ZlibReader::Libdeflate).with_dictionaries(dictionaries);
        let mut reader = TextReader::new(decoder);
        reader.set_cache_limit(Some(memory::thread_cache_limit(readers)));
        reader.set_room(turn.room());
        TextCheck { reader, text: Vec::new(), unreadable: HashSet::new() }
    }

    /// Reads a text of `revlog`, which is [`text`](Self::text) then.
    pub(super) fn read(&mut self, revlog: &Revlog, revision: usize, turn: &mut TurnTaker) -> Result<(), Damage> {
        let mut read = self.reader.read(revlog, 0, revision, &mut self.text);
        if matches!(read, Err(ReaderError::TooLarge { .. })) {
            turn.wait();
            if self.reader.set_room(turn.room()) {
                read = self.reader.read(revlog, 0, revision, &mut self.text);
            }
        }
        read.map_err(|error| {
            self.unreadable.insert(revision);
            let is_of_base = revlog.delta_base(revision).is_some_and(|base| self.unreadable.contains(&base));
            Damage { error, is_of_base }
        })
    }

    /// The text that was read last.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Forgets the current revlog. Returns the buffer of the text, whose memory the caller may free.
    pub(super) fn forget(&mut self) -> &mut Vec<u8> {
        self.reader.clear_caches();
        self.unreadable.clear();
        &mut self.text
    }

    /// Sets the limit of the reader to that of the thread.
    pub(super) fn give_room(&mut self, turn: &TurnTaker) {
        self.reader.set_room(turn.room());
    }
}
