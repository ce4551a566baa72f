//! Numbers as people read them: one function for each kind of number.
//!
//! | kind | functions |
//! |---|---|
//! | count | [`thousands`], [`counted`] |
//! | bytes | [`megabytes`] in tables whose header has the unit, [`bytes`] elsewhere |
//! | time | [`TimeScale`] for times that are compared, [`single_time`] and [`seconds`] elsewhere |
//! | ratio | [`time_ratio`] and [`ratio_cell`] for times, [`size_ratio`] and [`three_decimals`] for sizes, [`multiple`] for either, [`four_decimals`] for data |
//! | part of a whole | [`share`], [`exact_share`], [`percent`], [`signed_percent`] |
//! | per second | [`rate`] |

use std::time::Duration;

use repackbench_records::RatioEstimate;

/// A whole number with a comma between thousands: `1,234`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 block`, `1,234 blocks`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// Bytes as MB (10^6 bytes), without the unit: three significant digits, at most three decimals.
pub(crate) fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    match megabytes {
        0.0 => "0".to_owned(),
        0.0..0.0005 => "<0.001".to_owned(),
        0.0005..0.9995 => format!("{megabytes:.3}"),
        0.9995..9.995 => format!("{megabytes:.2}"),
        9.995..99.95 => format!("{megabytes:.1}"),
        _ => thousands(bytes / 1_000_000 + u64::from(bytes % 1_000_000 >= 500_000)),
    }
}

/// Bytes with their unit, three significant digits: `512 B`, `5.90 kB` (10^3 bytes), `246 MB` (10^6 bytes).
pub(crate) fn bytes(bytes: u64) -> String {
    let kilobytes = bytes as f64 / 1e3;
    match kilobytes {
        999.5.. => format!("{} MB", megabytes(bytes)),
        0.9995.. => format!("{} kB", three_digits(kilobytes)),
        _ => format!("{bytes} B"),
    }
}

/// A unit of time with the decimals that show three significant digits of the smallest time of a group, so that all
/// times of the group can be compared digit by digit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeScale {
    unit: &'static str,
    units_per_second: f64,
    decimals: usize,
}

impl TimeScale {
    /// The scale for a group whose smallest time that is not zero is `smallest`.
    pub(crate) fn for_smallest(smallest: Duration) -> Self {
        Self::for_seconds(smallest.as_secs_f64())
    }

    fn for_seconds(seconds: f64) -> Self {
        let (unit, units_per_second) = match seconds {
            0.9995.. => ("s", 1.0),
            0.000_999_5.. => ("ms", 1e3),
            _ => ("us", 1e6),
        };
        TimeScale { unit, units_per_second, decimals: decimals(seconds * units_per_second) }
    }

    /// `time` in this scale, with its unit.
    pub(crate) fn show(self, time: Duration) -> String {
        self.show_seconds(time.as_secs_f64())
    }

    fn show_seconds(self, seconds: f64) -> String {
        let TimeScale { unit, units_per_second, decimals } = self;
        format!("{:.decimals$} {unit}", seconds * units_per_second)
    }
}

/// One time by itself, three significant digits with the unit: `2.88 s`, `85.0 ms`, `45.7 us`.
pub(crate) fn single_time(time: Duration) -> String {
    seconds(time.as_secs_f64())
}

/// [`single_time`] of seconds.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        1e15.. => format!("{seconds:e} s"),
        _ => TimeScale::for_seconds(seconds).show_seconds(seconds),
    }
}

/// A ratio of times: two decimals, or as many as two significant digits need.
pub(crate) fn time_ratio(ratio: f64) -> String {
    match ratio {
        0.0995.. => format!("{ratio:.2}"),
        0.00995.. => format!("{ratio:.3}"),
        _ => format!("{ratio:.4}"),
    }
}

/// A ratio of times with its interval: `0.72 [0.70, 0.74]`.
pub(crate) fn ratio_cell(estimate: &RatioEstimate) -> String {
    let ratio = time_ratio(estimate.ratio);
    match &estimate.interval {
        Some(interval) => format!("{ratio} [{}, {}]", time_ratio(interval.low), time_ratio(interval.high)),
        None => ratio,
    }
}

/// A ratio of sizes, three decimals; `-` where there is nothing to divide by.
pub(crate) fn size_ratio(bytes: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { three_decimals(bytes as f64 / of as f64) }
}

/// A ratio of sizes that is known: three decimals, as sizes are exact.
pub(crate) fn three_decimals(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// A ratio for readers who compute with it: four decimals.
pub(crate) fn four_decimals(ratio: f64) -> String {
    format!("{ratio:.4}")
}

/// A multiple of any quantity: three significant digits, three decimals near 1, where sizes differ by little, and at most four.
pub(crate) fn multiple(multiple: f64) -> String {
    match multiple {
        0.9..1.1 => format!("{multiple:.3}"),
        0.0995.. => three_digits(multiple),
        _ => format!("{multiple:.4}"),
    }
}

/// A part of 1 in percent, with its unit.
pub(crate) fn percent(part: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", part * 100.0)
}

/// A part of 1 in percent with one decimal and its sign, without the unit: `-1.2`.
pub(crate) fn signed_percent(part: f64) -> String {
    let text = format!("{:+.1}", part * 100.0);
    // No difference has no direction.
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// A share in percent: one decimal below 10, none above.
pub(crate) fn share(part: f64) -> String {
    percent(part, if part < 0.0995 { 1 } else { 0 })
}

/// A share in percent where nearly all and nearly none matter: one decimal, three within 0.1 % of the ends. Only all is 100 %,
/// and only none is 0 %.
pub(crate) fn exact_share(part: f64) -> String {
    let is_near_end = !(0.001..=0.999).contains(&part);
    percent(
        part,
        if part == 0.0 || part == 1.0 {
            0
        } else if is_near_end {
            3
        } else {
            1
        },
    )
}

/// A rate, three significant digits and at most two decimals.
pub(crate) fn rate(rate: f64) -> String {
    three_digits(rate)
}

/// `value` as `show` writes it; a dash where there is none.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// The characters of a number from its decimal point on.
pub(crate) fn fraction_len(number: &str) -> usize {
    number.find('.').map_or(0, |point| number.len() - point)
}

/// Three significant digits, at most two decimals.
fn three_digits(number: f64) -> String {
    format!("{number:.*}", decimals(number))
}

/// The decimals that show three significant digits, at most two.
fn decimals(number: f64) -> usize {
    match number {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_have_three_significant_digits() {
        for (bytes, text) in [
            (0, "0"),
            (499, "<0.001"),
            (500, "0.001"),
            (123_400, "0.123"),
            (999_499, "0.999"),
            (999_500, "1.00"),
            (1_234_000, "1.23"),
            (9_994_999, "9.99"),
            (9_995_000, "10.0"),
            (99_949_999, "99.9"),
            (99_950_000, "100"),
            (492_900_000, "493"),
            (1_234_567_000_000, "1,234,567"),
        ] {
            assert_eq!(megabytes(bytes), text, "{bytes}");
        }
        assert_eq!(megabytes(u64::MAX), "18,446,744,073,710");
    }

    #[test]
    fn bytes_have_the_unit_that_fits() {
        for (number, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (5_900, "5.90 kB"),
            (13_200, "13.2 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (246_000_000, "246 MB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn counts_have_commas_and_nouns() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (850_123, "850,123"), (1_000_000, "1,000,000")]
        {
            assert_eq!(thousands(number), text);
        }
        assert_eq!([0, 1, 1234].map(|number| counted(number, "page", "pages")), ["0 pages", "1 page", "1,234 pages"]);
    }

    #[test]
    fn ratios_keep_two_significant_digits() {
        for (ratio, text) in [(0.718, "0.72"), (1.0, "1.00"), (12.345, "12.35"), (0.0414, "0.041"), (0.00414, "0.0041")]
        {
            assert_eq!(time_ratio(ratio), text);
        }
        assert_eq!(size_ratio(985, 1000), "0.985");
        assert_eq!(size_ratio(985, 0), "-");
        let multiples = [0.0123, 0.5, 0.9876, 1.0, 2.5, 12.34, 123.4].map(multiple);
        assert_eq!(multiples, ["0.0123", "0.50", "0.988", "1.000", "2.50", "12.3", "123"]);
    }

    #[test]
    fn times_of_a_group_share_the_unit_of_the_smallest() {
        let scale = TimeScale::for_smallest(Duration::from_millis(85));
        assert_eq!(scale.show(Duration::from_millis(85)), "85.0 ms");
        assert_eq!(scale.show(Duration::from_millis(1234)), "1234.0 ms");
        for (time, text) in [
            (Duration::from_millis(2881), "2.88 s"),
            (Duration::from_secs(123), "123 s"),
            (Duration::from_micros(999_600), "1.00 s"),
            (Duration::from_micros(1234), "1.23 ms"),
            (Duration::from_nanos(45_670), "45.7 us"),
            (Duration::from_nanos(300), "0.30 us"),
            (Duration::ZERO, "0.00 us"),
        ] {
            assert_eq!(single_time(time), text);
        }
    }

    #[test]
    fn parts_are_shown_in_percent() {
        assert_eq!([0.0123, -0.0123, -0.0001, 0.5].map(signed_percent), ["+1.2", "-1.2", "+0.0", "+50.0"]);
        assert_eq!([0.0, 0.0123, 0.0999, 0.5].map(share), ["0.0 %", "1.2 %", "10 %", "50 %"]);
        let shares = [0.0, 0.000_123, 0.6, 0.731, 0.9996, 1.0].map(exact_share);
        assert_eq!(shares, ["0 %", "0.012 %", "60.0 %", "73.1 %", "99.960 %", "100 %"]);
    }
}
