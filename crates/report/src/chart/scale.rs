//! From values to pixels, and round values as axis ticks.

/// The spacing of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths.
    Log,
}

/// An axis: its range of values, and its place in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// A linear axis from 0 to the largest of `values`, or to 1 without values.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>, [start, end]: [f64; 2]) -> Self {
        let high = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Scale { spacing: Spacing::Linear, low: 0.0, high: if high > 0.0 { high } else { 1.0 }, start, end }
    }

    /// A logarithmic axis for all positive `values`, with a margin on either side.
    pub(super) fn log(values: impl IntoIterator<Item = f64>, [start, end]: [f64; 2]) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().filter(|value| is_positive(*value)) {
            // No value of a report is that large or small. The clamp keeps all results finite.
            let value = value.clamp(1e-30, 1e30);
            (low, high) = (low.min(value), high.max(value));
        }
        if high <= 0.0 {
            (low, high) = (1.0, 1.0);
        }
        // A margin of 5 %, and at least 1 %, so that noise does not look like an effect.
        let margin = ((high / low).ln() * 0.05).max(0.01);
        let (low, high) = ((low.ln() - margin).exp(), (high.ln() + margin).exp());
        Scale { spacing: Spacing::Log, low, high, start, end }
    }

    /// This axis, extended for `values` beyond it by at most `most` of its length on either side.
    pub(super) fn holding(self, values: &[f64], most: f64) -> Self {
        let length = (self.high / self.low).ln().max(0.05) * most;
        let (mut low, mut high) = (self.low, self.high);
        for value in values.iter().copied().filter(|value| is_positive(*value)) {
            (low, high) = (low.min(value * 0.995), high.max(value * 1.005));
        }
        Scale { low: low.max(self.low * (-length).exp()), high: high.min(self.high * length.exp()), ..self }
    }

    /// This axis, starting exactly at `low`.
    pub(super) fn starting_at(self, low: f64) -> Self {
        Scale { low: low.min(self.high), ..self }
    }

    /// Its ends in pixels.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.start, self.end]
    }

    /// Its range of values.
    pub(super) fn range(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// The place of `value` in pixels, clamped to the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        let part = if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) };
        self.start + part * (self.end - self.start)
    }

    /// Round values, as many as fit: `length` gives the length of a value's text.
    pub(super) fn ticks(&self, length: impl Fn(f64) -> f64) -> Vec<f64> {
        let has_room = |ticks: &Vec<f64>| {
            ticks.windows(2).all(|pair| match pair {
                [one, next] => {
                    let needed = f64::midpoint(length(*one), length(*next)) + GAP;
                    (self.at(*next) - self.at(*one)).abs() >= needed
                }
                _ => true,
            })
        };
        let candidates = self.tick_sets().into_iter().filter(has_room);
        candidates.max_by_key(Vec::len).unwrap_or_default()
    }

    /// Candidate sets of round values; among sets of equal size the last one is preferred.
    fn tick_sets(&self) -> Vec<Vec<f64>> {
        let mut sets = Vec::new();
        let span = self.high - self.low;
        let exponent = span.log10().floor();
        for exponent in [exponent, exponent - 1.0, exponent - 2.0] {
            for step in [5.0, 2.0, 1.0] {
                sets.push(self.multiples(step * 10_f64.powf(exponent)));
            }
        }
        if self.spacing == Spacing::Log && self.high / self.low > 3.0 {
            let decades: [&[f64]; 6] = [
                &[1.0],
                &[1.0, 3.0],
                &[1.0, 2.0, 5.0],
                &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
                &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
                &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
            ];
            sets.extend(decades.map(|mantissas| self.in_decades(mantissas)));
            sets.extend([2.0, 3.0, 6.0].map(|decades| self.powers(decades)));
        }
        sets
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        if !(0.0..=MOST_TICKS).contains(&(last - first)) {
            return Vec::new();
        }
        (0..=(last - first) as u32).map(|number| rounded((first + f64::from(number)) * step)).collect()
    }

    fn in_decades(&self, mantissas: &[f64]) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let values = (first..=last).flat_map(|decade| mantissas.iter().map(move |of| of * 10_f64.powi(decade)));
        let is_inside = |value: &f64| (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(value);
        values.filter(is_inside).map(rounded).collect()
    }

    /// Powers of ten, `decades` decades apart.
    fn powers(&self, decades: f64) -> Vec<f64> {
        let (first, last) = ((self.low.log10() / decades).ceil(), (self.high.log10() / decades).floor());
        let number = (last - first).clamp(-1.0, MOST_TICKS) as i32;
        (0..=number).map(|number| rounded(10_f64.powf((first + f64::from(number)) * decades))).collect()
    }
}

/// Pixels between two texts on an axis.
const GAP: f64 = 10.0;

/// The maximum number of ticks.
const MOST_TICKS: f64 = 200.0;

/// Whether `value` is positive and finite.
pub(super) fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// `value` rounded to ten digits, to hide binary fractions.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// The text of a value on an axis, without superfluous digits.
pub(super) fn tick_text(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e15.. | ..1e-5 => format!("{value:e}"),
        1e9.. => format!("{} G", rounded(value / 1e9)),
        1e6.. => format!("{} M", rounded(value / 1e6)),
        1e4.. => format!("{} k", rounded(value / 1e3)),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of a log axis over `low..high`, 600 pixels long.
    fn log_ticks(low: f64, high: f64) -> Vec<String> {
        let ticks = Scale::log([low, high], [0.0, 600.0]).ticks(|_| 40.0);
        ticks.into_iter().map(tick_text).collect()
    }

    #[test]
    fn values_map_to_pixels() {
        let scale = Scale::linear([5.0, 10.0, f64::NAN], [100.0, 200.0]);
        assert_eq!(
            [0.0, 5.0, 10.0, 20.0, -1.0, f64::NAN].map(|value| scale.at(value)),
            [100.0, 150.0, 200.0, 200.0, 100.0, 100.0]
        );
        let scale = Scale::log([0.5, 2.0, 0.0, -1.0, f64::INFINITY], [0.0, 100.0]);
        assert!((scale.at(1.0) - 50.0).abs() < 1e-9 && scale.at(0.5) > 0.0 && scale.at(2.0) < 100.0);
        assert_eq!(scale.at(0.0), 0.0);
        // Downwards, as on a page.
        assert_eq!(Scale::linear([4.0], [300.0, 100.0]).at(4.0), 100.0);
    }

    #[test]
    fn axis_without_values_is_valid() {
        for scale in [Scale::linear([], [0.0, 9.0]), Scale::log([], [0.0, 9.0]), Scale::log([1.0], [0.0, 9.0])] {
            let [low, high] = scale.range();
            assert!(low < high && scale.at(1.0).is_finite(), "{scale:?}");
        }
    }

    #[test]
    fn ticks_are_round_and_fit() {
        assert_eq!(log_ticks(0.7, 1.3), ["0.7", "0.8", "0.9", "1", "1.1", "1.2", "1.3"]);
        assert_eq!(log_ticks(0.995, 1.004), ["0.99", "0.995", "1", "1.005", "1.01"]);
        assert_eq!(log_ticks(1.0, 1e6), ["1", "10", "100", "1000", "10 k", "100 k", "1 M"]);
        for (low, high) in
            [(0.2, 9.0), (0.5, 1.9), (1e-7, 1e9), (1.0, 1.0), (3.0, 3.1), (0.9999, 1.0001), (1e-300, 1e300)]
        {
            for length in [10.0, 60.0, 300.0, 860.0] {
                let scale = Scale::log([low, high], [0.0, length]);
                let ticks = scale.ticks(|_| 30.0);
                let places: Vec<f64> = ticks.iter().map(|tick| scale.at(*tick)).collect();
                assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 40.0), "{low} {high} {length}: {ticks:?}");
                assert!(length < 300.0 || ticks.len() >= 2, "{low} {high} {length}: {ticks:?}");
            }
        }
        let linear = Scale::linear([47.3], [0.0, 300.0]).ticks(|_| 20.0);
        assert_eq!(linear, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]);
    }

    #[test]
    fn tick_texts_are_short() {
        let texts = [0.7, 1.0, 0.05, 1e4, 2.5e6, 3e9, 1e-6, 0.0].map(tick_text);
        assert_eq!(texts, ["0.7", "1", "0.05", "10 k", "2.5 M", "3 G", "1e-6", "0"]);
    }
}
