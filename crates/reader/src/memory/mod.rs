//! The ceiling on the memory that decoded objects take.
//!
//! A repository says itself how large its objects are, and a few kilobytes of it can unfold to gigabytes. So each size is held
//! against the ceiling before memory is taken for it. The ceiling is one for the process and is divided once:
//!
//! | share | for |
//! |---|---|
//! | a half | the thread whose turn it is: a base, its delta, what that makes of it, and what the reader keeps, an eighth each |
//! | a quarter | all threads whose turn it is not, as much for each |
//! | a quarter | the cache of decoded objects |
//!
//! An object above an eighth is refused. Threads that share work take turns at those that their own share does not hold.
//! Objects up to [`BLOCK_LEN`] are never refused, so a ceiling below eight times that counts as so much. Payloads above
//! [`BLOCK_LEN`] that are streamed take no memory and are not counted.

mod machine;
mod turn;

use std::sync::OnceLock;

use repackbench_codec::{BLOCK_LEN, CodecError, FoundLength};

pub use self::turn::{Turn, TurnTaker};

/// The default limit of the cache of decoded objects in bytes: git's default for `core.deltaBaseCacheLimit`.
pub const DEFAULT_DELTA_CACHE: u64 = DEFAULT_CACHE_LIMIT as u64;

/// The same as a length in memory.
pub(crate) const DEFAULT_CACHE_LIMIT: usize = 96 << 20;

/// Objects up to this many bytes are not counted: there are many of them, and no thread holds more than some tens.
const UNCOUNTED: u64 = 1 << 20;

/// The ceiling where nothing says how much memory there is, in bytes.
const FALLBACK: u64 = 2 << 30;

static CEILING: OnceLock<Ceiling> = OnceLock::new();

/// How much memory decoded objects may take, and who shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    bytes: u64,
    threads: u64,
    histories: u64,
}

/// An object that would take more memory than one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes, more than the {largest} that a memory ceiling of {ceiling} bytes leaves for it")]
pub struct TooLarge {
    /// The length that it has or claims, in bytes.
    pub len: u64,
    /// The length that one may have.
    pub largest: u64,
    /// The ceiling.
    pub ceiling: u64,
}

impl Ceiling {
    /// A ceiling of `bytes`, or of half of what the machine or its memory group has, for `threads` threads.
    pub fn new(bytes: Option<u64>, threads: usize) -> Self {
        let default = || machine::memory().map_or(FALLBACK, |memory| memory / 2);
        Ceiling { bytes: bytes.unwrap_or_else(default), threads: (threads as u64).max(1), histories: 1 }
    }

    /// The same for a process that reads so many histories at the same time. They take no turns, as they are timed, so what one
    /// object and one cache may take is divided by their number.
    #[must_use]
    pub fn for_histories(self, histories: usize) -> Self {
        Ceiling { histories: (histories as u64).max(1), ..self }
    }

    /// Makes this the ceiling of the process, unless that has one.
    pub fn set(self) {
        CEILING.get_or_init(|| self);
    }

    /// That of the process; the default one for a single thread until another is set.
    pub(crate) fn get() -> Self {
        *CEILING.get_or_init(|| Ceiling::new(None, 1))
    }

    /// The most that one object may take, in bytes.
    fn largest(self) -> u64 {
        (self.bytes / 8 / self.histories).max(BLOCK_LEN as u64)
    }

    /// The most that a thread may hold of objects at once when it is not its turn, each counted four times.
    fn own_share(self) -> u64 {
        (self.bytes / 16 / self.threads).max(UNCOUNTED)
    }

    /// The most that a cache of decoded objects may hold, in bytes.
    fn cache(self) -> u64 {
        self.bytes / 4 / self.histories
    }

    fn check(self, len: u64) -> Result<(), TooLarge> {
        let largest = self.largest();
        if len > largest { Err(TooLarge { len, largest, ceiling: self.bytes }) } else { Ok(()) }
    }
}

/// Makes sure that `len` bytes are not too many for one object.
///
/// # Errors
/// They are.
#[inline]
pub fn check(len: u64) -> Result<(), TooLarge> {
    if len <= UNCOUNTED { Ok(()) } else { Ceiling::get().check(len) }
}

/// As [`check`], where there is room for `room` bytes only.
#[inline]
pub(crate) fn check_room(len: u64, room: usize) -> Result<(), TooLarge> {
    let largest = room as u64;
    if len <= largest { Ok(()) } else { Err(TooLarge { len, largest, ceiling: Ceiling::get().bytes }) }
}

/// The longest payload or text that may be held, in bytes, where its chunk says no length.
pub fn largest() -> usize {
    usize::try_from(Ceiling::get().largest()).unwrap_or(usize::MAX)
}

/// What a decoder whose limit was `room` found to be more than that, if `error` says so.
pub(crate) fn excess_of(error: &CodecError, room: usize) -> Option<TooLarge> {
    match error {
        CodecError::PayloadLimit { limit, found, .. } if *limit == room as u64 => {
            let len = if let FoundLength::Exactly(len) = found { *len } else { limit.saturating_add(1) };
            Some(TooLarge { len, largest: *limit, ceiling: Ceiling::get().bytes })
        }
        _ => None,
    }
}

/// The most that a cache of decoded objects may hold, in bytes.
pub(crate) fn cache_limit() -> usize {
    usize::try_from(Ceiling::get().cache()).unwrap_or(usize::MAX)
}

/// The limit of a cache of decoded objects of which each thread has `caches`, in bytes.
pub fn thread_cache_limit(caches: u64) -> u64 {
    let ceiling = Ceiling::get();
    (ceiling.cache() / ceiling.threads / caches.max(1)).min(DEFAULT_DELTA_CACHE)
}

/// Makes sure that bases of `len` bytes together, of which the largest one was checked, are not too many to be held while a
/// delta is applied to one of them.
///
/// # Errors
/// They are.
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
    fn one_object_takes_an_eighth_at_most() {
        let ceiling = Ceiling::new(Some(8 << 30), 4);
        assert_eq!(ceiling.check(1 << 30), Ok(()));
        let error = ceiling.check((1 << 30) + 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1073741825 bytes, more than the 1073741824 that a memory ceiling of 8589934592 bytes leaves for it"
        );
        assert_eq!(ceiling.own_share(), (8 << 30) / 64);
        assert_eq!(ceiling.cache(), 2 << 30);
        let shared = ceiling.for_histories(4);
        assert_eq!((shared.largest(), shared.cache()), (256 << 20, 512 << 20));
    }

    #[test]
    fn shares_are_within_the_ceiling() {
        for threads in [1, 2, 8, 64] {
            let ceiling = Ceiling::new(Some(16 << 30), threads);
            let own = ceiling.own_share() * 4 * threads as u64;
            assert!(ceiling.largest() * 4 + own + ceiling.cache() <= 16 << 30, "{threads} threads");
        }
    }

    #[test]
    fn a_block_is_never_too_large() {
        for bytes in [0, 1, 100 << 20] {
            let ceiling = Ceiling::new(Some(bytes), 2);
            assert_eq!(ceiling.check(BLOCK_LEN as u64), Ok(()));
            assert!(ceiling.check(BLOCK_LEN as u64 + 1).is_err());
        }
    }

    #[test]
    fn the_default_is_half_of_what_there_is() {
        assert_eq!(Ceiling::new(None, 1).bytes, machine::memory().unwrap() / 2);
    }
}
