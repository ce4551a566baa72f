//! Keeps states, with their contexts, for the next stream.

use std::cell::RefCell;

use super::InflateStream;

/// How many states a thread keeps. git rarely has more than one stream open, and then only briefly.
const KEPT: usize = 4;

thread_local! {
    #[allow(clippy::vec_box, reason = "zlibs point into the states, which must not move")]
    static POOL: RefCell<Vec<Box<InflateStream>>> = const { RefCell::new(Vec::new()) };
}

/// Takes a state from the pool, or makes one. A thread that is ending no longer has a pool.
pub(super) fn take() -> Box<InflateStream> {
    let kept = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
    kept.unwrap_or_else(|| Box::new(InflateStream::unused()))
}

/// Puts a state into the pool, or drops it.
pub(super) fn keep(state: Box<InflateStream>) {
    // A state that does not fit is dropped after the borrow of the pool ends, because dropping it may call back into
    // this library.
    let _too_many = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < KEPT {
            pool.push(state);
            return None;
        }
        Some(state)
    });
}
