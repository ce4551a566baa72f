//! States that are kept for the next stream, with the contexts that they have.

use std::cell::RefCell;

use super::InflateStream;

/// How many states a thread keeps: git has more than one stream open only for moments.
const KEPT: usize = 4;

thread_local! {
    #[allow(clippy::vec_box, reason = "zlibs point to what is within: it must not move")]
    static POOL: RefCell<Vec<Box<InflateStream>>> = const { RefCell::new(Vec::new()) };
}

/// A state of no stream. A thread that is ending has no pool any more.
pub(super) fn take() -> Box<InflateStream> {
    let kept = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
    kept.unwrap_or_else(|| Box::new(InflateStream::unused()))
}

/// Keeps a state, or drops it.
pub(super) fn keep(state: Box<InflateStream>) {
    // What does not fit is dropped when the pool is not borrowed any more: that may call anything.
    let _too_many = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < KEPT {
            pool.push(state);
            return None;
        }
        Some(state)
    });
}
