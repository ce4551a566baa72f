//! Pairs of times, the median of their ratios, and the table of all comparisons.

use std::time::Duration;

/// Times of ours and of another program, in pairs that ran one directly after the other, so that a temporary slowdown
/// of the machine affects both of a pair.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What was measured.
    pub name: String,
    /// What it is compared with.
    pub against: String,
    /// The kind of time: wall or CPU.
    pub time: &'static str,
    /// Pairs of our time and the other program's.
    pub pairs: Vec<(Duration, Duration)>,
    /// The highest acceptable ratio, if there is one.
    pub target: Option<f64>,
}

impl Comparison {
    /// The median of the pairs' ratios, ours divided by the other's; `None` without pairs.
    pub fn ratio(&self) -> Option<f64> {
        median(self.ratios())
    }

    fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|(ours, other)| ours.as_secs_f64() / other.as_secs_f64()).collect()
    }

    fn verdict(&self) -> &'static str {
        match self.ratio().zip(self.target) {
            Some((ratio, target)) if ratio <= target => "PASS",
            Some(_) => "over",
            None => "",
        }
    }

    fn cells(&self) -> [String; 7] {
        let seconds = |times: Vec<f64>| median(times).map_or_else(String::new, |seconds| format!("{seconds:.3}"));
        let ours = self.pairs.iter().map(|(ours, _)| ours.as_secs_f64()).collect();
        let other = self.pairs.iter().map(|(_, other)| other.as_secs_f64()).collect();
        let ratios = self.ratios();
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ratio = self.ratio().map_or_else(String::new, |r| format!("{r:.2} ({lowest:.2} to {highest:.2})"));
        let target = self.target.map_or_else(String::new, |target| format!("{target:.1} {}", self.verdict()));
        [self.name.clone(), self.against.clone(), self.time.to_owned(), seconds(ours), seconds(other), ratio, target]
    }
}

/// Formats all comparisons, one per line. Times are medians in seconds. Ratios are medians of the pairs' ratios, with
/// the lowest and the highest.
pub fn table(comparisons: &[Comparison]) -> String {
    let head = ["", "against", "time", "ours s", "other s", "ratio", "target"].map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(comparisons.iter().map(Comparison::cells)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width =
                rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The median of the times; the upper one of the two in the middle for an even count.
pub fn median_time(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The median of the values: the middle one, or the mean of the two in the middle; `None` without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle.checked_sub(1)?).map(|lower| (lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(pairs: &[(u64, u64)], target: Option<f64>) -> Comparison {
        let pairs = pairs.iter().map(|(a, b)| (Duration::from_millis(*a), Duration::from_millis(*b))).collect();
        Comparison { name: "traverse".into(), against: "git rev-list".into(), time: "CPU", pairs, target }
    }

    #[test]
    fn ratio_is_the_median_of_ratios() {
        // Ratios 0.5, 2 and 1; medians 200 and 100.
        let comparison = comparison(&[(50, 100), (200, 100), (300, 300)], Some(1.0));
        assert_eq!(comparison.ratio(), Some(1.0));
        assert_eq!(comparison.verdict(), "PASS");
    }

    #[test]
    fn median_of_an_even_count_is_a_mean() {
        assert_eq!(comparison(&[(100, 100), (200, 100)], None).ratio(), Some(1.5));
        assert_eq!(comparison(&[], None).ratio(), None);
    }

    #[test]
    fn table_is_aligned_and_marks_missed_targets() {
        let rows = [comparison(&[(1500, 1000)], Some(1.0)), comparison(&[(500, 1000)], None)];
        let expected = "
          against       time  ours s  other s  ratio                target
traverse  git rev-list  CPU   1.500   1.000    1.50 (1.50 to 1.50)  1.0 over
traverse  git rev-list  CPU   0.500   1.000    0.50 (0.50 to 0.50)
";
        assert_eq!(format!("\n{}", table(&rows)), expected);
    }
}
