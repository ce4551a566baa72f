//! How many more members of each stratum to sample.

use super::{Common, StratumSample};

/// Halvings of the logarithm of a factor: enough for a budget that is met within 1 %.
const STEPS: usize = 40;

/// Factors up to this power of 2 are tried, times what gives the heaviest stratum one member.
const MOST: f64 = 128.0;

/// What a stratum offers to a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// How many members can be sampled, with those that are.
    pub most: u64,
    /// What one costs, in any unit.
    pub cost: f64,
}

/// How many members of each of `strata` the sample has after about `budget` more is spent where it narrows the interval of
/// the total most: in proportion to the members of a stratum and their spread, and inversely to the square root of what one
/// costs (Neyman's allocation; Cochran, section 5.5). It is at least one more member, unless all are sampled.
pub fn allocate(strata: &[StratumSample], offers: &[Offer], budget: f64) -> Vec<u64> {
    let allocation = Allocation::new(strata, offers);
    let heaviest = allocation.weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max).log2();
    // Logarithms to base 2: with the lower factor nothing more is sampled, and with the upper everything.
    let (mut low, mut high) = (-heaviest - 1.0, MOST - heaviest);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        let is_too_much = allocation.spent(&allocation.counts(middle.exp2())) > budget;
        *(if is_too_much { &mut high } else { &mut low }) = middle;
    }
    let mut counts = allocation.counts(low.exp2());
    if counts.iter().zip(strata).all(|(count, stratum)| *count == stratum.sampled)
        && let Some(count) = allocation.best().and_then(|at| counts.get_mut(at))
    {
        *count += 1;
    }
    counts
}

struct Allocation<'a> {
    strata: &'a [StratumSample],
    offers: &'a [Offer],
    /// To which the members are in proportion.
    weights: Vec<f64>,
}

impl<'a> Allocation<'a> {
    fn new(strata: &'a [StratumSample], offers: &'a [Offer]) -> Self {
        let common = Common::of(strata);
        let weight = |(stratum, offer): (&StratumSample, &Offer)| {
            // Where nothing is sampled, the sizes say how much strata may differ.
            let spread = common.as_ref().map_or(stratum.mean_x(), |common| common.spread_of(stratum));
            stratum.members as f64 * spread / offer.cost.max(f64::MIN_POSITIVE).sqrt()
        };
        Allocation { strata, offers, weights: strata.iter().zip(offers).map(weight).collect() }
    }

    /// The members that are sampled then, at `factor` times the weights.
    fn counts(&self, factor: f64) -> Vec<u64> {
        let count = |((stratum, offer), weight): ((&StratumSample, &Offer), &f64)| {
            ((factor * weight) as u64).min(offer.most).max(stratum.sampled)
        };
        self.strata.iter().zip(self.offers).zip(&self.weights).map(count).collect()
    }

    /// What `counts` cost beyond what is sampled.
    fn spent(&self, counts: &[u64]) -> f64 {
        let more = counts.iter().zip(self.strata).map(|(count, stratum)| count.saturating_sub(stratum.sampled));
        more.zip(self.offers).map(|(more, offer)| more as f64 * offer.cost).sum()
    }

    /// The stratum where one more member narrows the interval most; `None` if all are sampled.
    fn best(&self) -> Option<usize> {
        let gain = |(stratum, weight): (&StratumSample, &f64)| weight / (stratum.sampled as f64).max(1.0);
        let gains = self.strata.iter().zip(&self.weights).map(gain).enumerate();
        let is_open =
            |at: usize| self.offers.get(at).zip(self.strata.get(at)).is_some_and(|(offer, of)| offer.most > of.sampled);
        let open = gains.filter(|(at, _)| is_open(*at));
        open.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::stratum, *};

    #[test]
    fn more_is_sampled_where_members_differ_more_and_cost_less() {
        let strata = [stratum(0, 1.0), stratum(1, 2.0), stratum(2, 1.0)];
        let offers = [1.0, 1.0, 4.0].map(|cost| Offer { most: 1000, cost });
        let counts = allocate(&strata, &offers, 300.0);
        // n, 2n and n/2 members, of which 10 each are sampled: n - 10 + 2n - 10 + 4 (n/2 - 10) = 300.
        for (count, expected) in counts.iter().zip([72_i64, 144, 36]) {
            assert!((*count as i64 - expected).abs() <= 1, "{counts:?}");
        }
    }

    #[test]
    fn allocation_keeps_what_is_sampled_and_takes_no_more_than_there_is() {
        let strata = [stratum(0, 0.0), stratum(1, 2.0)];
        let offers = [Offer { most: 10, cost: 1.0 }, Offer { most: 40, cost: 1.0 }];
        assert_eq!(allocate(&strata, &offers, 1e9), [10, 40]);
        // One at least, whatever it costs.
        let dear = offers.map(|offer| Offer { cost: 1e6, ..offer });
        assert_eq!(allocate(&strata, &dear, 1.0), [10, 11]);
        assert_eq!(allocate(&[StratumSample::new(0, 5, 50.0)], &[Offer { most: 1, cost: 1.0 }], 1.0), [1]);
    }
}
