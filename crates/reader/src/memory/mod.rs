//! The ceiling on the memory for decoded objects.
//!
//! The repository itself claims how large its objects are, and a few of its kilobytes can decode to gigabytes. So each
//! size is checked against the ceiling before memory is taken for it. There is one ceiling per process:
//!
//! | share | for |
//! |---|---|
//! | a half | the thread that has the turn: a base, its delta, the result, and what the reader keeps, an eighth each |
//! | a quarter | all other threads, in equal parts |
//! | a quarter | the cache of decoded objects |
//!
//! An object above an eighth is rejected. Threads that share work take turns at objects that do not fit their own
//! share. Objects up to [`BLOCK_LEN`] are never rejected, so a ceiling below eight times that counts as eight times
//! that. Payloads above [`BLOCK_LEN`] that are streamed take no memory and do not count. A list of files may take as
//! much as an object, or 256 MiB if that is more.

mod machine;
mod turn;

use std::sync::OnceLock;

use repackbench_codec::{BLOCK_LEN, CodecError, FoundLength};

pub use self::turn::{Turn, TurnTaker};

/// The default limit of the cache of decoded objects in bytes: git's default for `core.deltaBaseCacheLimit`.
pub const DEFAULT_DELTA_CACHE: u64 = DEFAULT_CACHE_LIMIT as u64;

/// The same as a length in memory.
pub(crate) const DEFAULT_CACHE_LIMIT: usize = 96 << 20;

/// Objects up to this many bytes are not counted. There are many of them, but no thread holds more than a few dozen.
const UNCOUNTED: u64 = 1 << 20;

/// The bytes that a list of files may have under any ceiling.
const LISTING: u64 = 256 << 20;

/// The ceiling in bytes if the system does not report its memory.
const FALLBACK: u64 = 2 << 30;

static CEILING: OnceLock<Ceiling> = OnceLock::new();

/// The memory that decoded objects may take, and between how many users it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    bytes: u64,
    threads: u64,
    histories: u64,
}

/// The size of an object that takes more memory than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes, more than the {largest} allowed by a memory ceiling of {ceiling} bytes")]
pub struct TooLarge {
    /// Its length in bytes, as measured or claimed.
    pub len: u64,
    /// The largest length allowed.
    pub largest: u64,
    /// The ceiling in bytes.
    pub ceiling: u64,
}

impl Ceiling {
    /// A ceiling of `bytes` for `threads` threads. The default is half of the memory of the machine or its memory
    /// group.
    pub fn new(bytes: Option<u64>, threads: usize) -> Self {
        let default = || machine::memory().map_or(FALLBACK, |memory| memory / 2);
        Ceiling { bytes: bytes.unwrap_or_else(default), threads: (threads as u64).max(1), histories: 1 }
    }

    /// The same ceiling for a process that reads `histories` histories at the same time. They are timed and so take no
    /// turns: the limits of one object and one cache are divided by their number.
    #[must_use]
    pub fn for_histories(self, histories: usize) -> Self {
        Ceiling { histories: (histories as u64).max(1), ..self }
    }

    /// Makes this the ceiling of the process, unless it already has one.
    pub fn set(self) {
        CEILING.get_or_init(|| self);
    }

    /// The ceiling of the process. If none was set, the default ceiling for one thread.
    pub(crate) fn get() -> Self {
        *CEILING.get_or_init(|| Ceiling::new(None, 1))
    }

    /// Limit for one object in bytes.
    fn largest(self) -> u64 {
        (self.bytes / 8 / self.histories).max(BLOCK_LEN as u64)
    }

    /// Limit in bytes for the objects that a thread without the turn holds at once. Each object counts four times.
    fn own_share(self) -> u64 {
        (self.bytes / 16 / self.threads).max(UNCOUNTED)
    }

    /// Limit for the cache of decoded objects in bytes.
    fn cache(self) -> u64 {
        self.bytes / 4 / self.histories
    }

    fn check(self, len: u64) -> Result<(), TooLarge> {
        let largest = self.largest();
        if len > largest { Err(TooLarge { len, largest, ceiling: self.bytes }) } else { Ok(()) }
    }
}

/// Checks that one object may take `len` bytes.
///
/// # Errors
/// It may not.
#[inline]
pub fn check(len: u64) -> Result<(), TooLarge> {
    if len <= UNCOUNTED { Ok(()) } else { Ceiling::get().check(len) }
}

/// Checks that an object of `len` bytes fits `room` bytes.
#[inline]
pub(crate) fn check_room(len: u64, room: usize) -> Result<(), TooLarge> {
    let largest = room as u64;
    if len <= largest { Ok(()) } else { Err(excess(len, largest)) }
}

/// Limit in bytes for the list of files that differ between two revisions, or of all files of one: what one object may
/// take, or room for more than a million paths if that is more.
pub(crate) fn listing_limit() -> u64 {
    Ceiling::get().largest().max(LISTING)
}

/// The excess of `len` bytes over `largest`.
pub(crate) fn excess(len: u64, largest: u64) -> TooLarge {
    TooLarge { len, largest, ceiling: Ceiling::get().bytes }
}

/// Limit in bytes for a payload or text whose chunk does not record its length.
pub fn largest() -> usize {
    usize::try_from(Ceiling::get().largest()).unwrap_or(usize::MAX)
}

/// The excess, if `error` says that a payload exceeds the decoder's limit of `room` bytes.
pub(crate) fn excess_of(error: &CodecError, room: usize) -> Option<TooLarge> {
    match error {
        CodecError::PayloadLimit { limit, found, .. } if *limit == room as u64 => {
            let len = if let FoundLength::Exactly(len) = found { *len } else { limit.saturating_add(1) };
            Some(excess(len, *limit))
        }
        _ => None,
    }
}

/// Limit for the cache of decoded objects in bytes.
pub(crate) fn cache_limit() -> usize {
    usize::try_from(Ceiling::get().cache()).unwrap_or(usize::MAX)
}

/// Limit in bytes for one cache of decoded objects, if each thread has `caches` of them.
pub fn thread_cache_limit(caches: u64) -> u64 {
    let ceiling = Ceiling::get();
    (ceiling.cache() / ceiling.threads / caches.max(1)).min(DEFAULT_DELTA_CACHE)
}

/// Checks that bases of `len` bytes in total may be held while a delta is applied to one of them. The size of the
/// largest was checked before.
///
/// # Errors
/// They may not.
#[inline]
pub(crate) fn check_bases(len: u64) -> Result<(), TooLarge> {
    if len <= UNCOUNTED {
        return Ok(());
    }
    let ceiling = Ceiling::get();
    let largest = ceiling.largest().saturating_mul(2);
    if len > largest { Err(TooLarge { len, largest, ceiling: ceiling.bytes }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_limited_to_an_eighth() {
        let ceiling = Ceiling::new(Some(8 << 30), 4);
        assert_eq!(ceiling.check(1 << 30), Ok(()));
        let error = ceiling.check((1 << 30) + 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1073741825 bytes, more than the 1073741824 allowed by a memory ceiling of 8589934592 bytes"
        );
        assert_eq!(ceiling.own_share(), (8 << 30) / 64);
        assert_eq!(ceiling.cache(), 2 << 30);
        let shared = ceiling.for_histories(4);
        assert_eq!((shared.largest(), shared.cache()), (256 << 20, 512 << 20));
    }

    #[test]
    fn shares_add_up_to_at_most_the_ceiling() {
        for threads in [1, 2, 8, 64] {
            let ceiling = Ceiling::new(Some(16 << 30), threads);
            let own = ceiling.own_share() * 4 * threads as u64;
            assert!(ceiling.largest() * 4 + own + ceiling.cache() <= 16 << 30, "{threads} threads");
        }
    }

    #[test]
    fn block_is_never_too_large() {
        for bytes in [0, 1, 100 << 20] {
            let ceiling = Ceiling::new(Some(bytes), 2);
            assert_eq!(ceiling.check(BLOCK_LEN as u64), Ok(()));
            assert!(ceiling.check(BLOCK_LEN as u64 + 1).is_err());
        }
    }

    #[test]
    fn default_is_half_of_the_memory() {
        assert_eq!(Ceiling::new(None, 1).bytes, machine::memory().unwrap() / 2);
    }
}
