//! How the time that the user allows is shared out among several loops.

use std::time::Duration;

use super::Stop;
use crate::clock::Clock;

/// Time that is left, for parts of different weight.
pub struct Budget<'a> {
    clock: &'a dyn Clock,
    /// When it is used up, on the clock; `None` for never.
    end: Option<Duration>,
    /// The sum of the weights of the parts that are still to come.
    weights_left: u32,
}

impl<'a> Budget<'a> {
    /// `limit` from now on, for parts whose weights sum up to `weights`; no limit if that is `None`.
    ///
    /// # Errors
    /// [`Stop::Clock`].
    pub fn new(clock: &'a dyn Clock, limit: Option<Duration>, weights: u32) -> Result<Self, Stop> {
        let mut budget = Budget { clock, end: None, weights_left: weights };
        if let Some(limit) = limit {
            budget.end = Some(budget.now()?.saturating_add(limit));
        }
        Ok(budget)
    }

    /// When the budget is used up, on the clock; `None` for never.
    pub fn end(&self) -> Option<Duration> {
        self.end
    }

    /// The time of the next part, which has this weight; `None` for no limit. What a part does not use goes to those
    /// after it.
    ///
    /// # Errors
    /// [`Stop::Clock`].
    pub fn share(&mut self, weight: u32) -> Result<Option<Duration>, Stop> {
        let share = self.next_share(weight)?;
        self.weights_left = self.weights_left.saturating_sub(weight);
        Ok(share)
    }

    /// When the [share](Self::share) of the next part is over, on the clock; `None` for no limit.
    ///
    /// # Errors
    /// [`Stop::Clock`].
    pub fn share_end(&mut self, weight: u32) -> Result<Option<Duration>, Stop> {
        let now = self.now()?;
        Ok(self.share(weight)?.map(|share| now.saturating_add(share)))
    }

    /// What [`share`](Self::share) would give to a part of this weight, which is not taken.
    ///
    /// # Errors
    /// [`Stop::Clock`].
    pub fn next_share(&self, weight: u32) -> Result<Option<Duration>, Stop> {
        let of = self.weights_left.max(weight).max(1);
        let now = self.now()?;
        Ok(self.end.map(|end| end.saturating_sub(now).mul_f64(f64::from(weight) / f64::from(of))))
    }

    fn now(&self) -> Result<Duration, Stop> {
        self.clock.read().map(|reading| reading.wall).map_err(Stop::Clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::SetClock;

    #[test]
    fn unused_time_goes_to_the_parts_that_follow() {
        let clock = SetClock::at(50);
        let seconds = |count| Some(Duration::from_secs(count));
        let mut budget = Budget::new(&clock, seconds(100), 4).unwrap();
        assert_eq!((budget.end(), budget.next_share(2).unwrap()), (seconds(150), seconds(50)));
        assert_eq!(budget.share(1).unwrap(), seconds(25));
        clock.set(60);
        assert_eq!(budget.share(1).unwrap(), seconds(30), "a third of 90");
        clock.set(130);
        assert_eq!(budget.share_end(1).unwrap(), seconds(140));
        clock.set(200);
        assert_eq!(budget.share(2).unwrap(), seconds(0));
        let mut unlimited = Budget::new(&clock, None, 1).unwrap();
        assert_eq!((unlimited.end(), unlimited.share(1).unwrap()), (None, None));
    }
}
