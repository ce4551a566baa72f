//! Numbers as people read them.

use std::time::Duration;

use repackbench_records::RatioEstimate;

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

/// A whole number with a comma between thousands.
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

/// A ratio of sizes, with three decimals; `-` where there is nothing to divide by.
pub(crate) fn size_ratio(bytes: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { three_decimals(bytes as f64 / of as f64) }
}

/// A ratio of sizes that is known to exist.
pub(crate) fn three_decimals(value: f64) -> String {
    format!("{value:.3}")
}

/// A part of 1 in percent, with its unit.
pub(crate) fn percent(part: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", part * 100.0)
}

/// A rate with three significant digits, at most two decimals.
pub(crate) fn rate(rate: f64) -> String {
    match rate {
        99.95.. => format!("{rate:.0}"),
        9.995.. => format!("{rate:.1}"),
        _ => format!("{rate:.2}"),
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

/// A part of 1 in percent with one decimal, and its sign: `-1.2`.
pub(crate) fn signed_percent(part: f64) -> String {
    let text = format!("{:+.1}", part * 100.0);
    // No difference has no direction.
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// A share in percent: one decimal below 10, none above.
pub(crate) fn share(part: f64) -> String {
    percent(part, if part < 0.0995 { 1 } else { 0 })
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
        let seconds = smallest.as_secs_f64();
        let (unit, units_per_second) = match seconds {
            0.9995.. => ("s", 1.0),
            0.000_999_5.. => ("ms", 1e3),
            _ => ("us", 1e6),
        };
        let decimals = match seconds * units_per_second {
            99.95.. => 0,
            9.995.. => 1,
            _ => 2,
        };
        TimeScale { unit, units_per_second, decimals }
    }

    /// `time` in this scale, with its unit.
    pub(crate) fn show(self, time: Duration) -> String {
        let TimeScale { unit, units_per_second, decimals } = self;
        format!("{:.decimals$} {unit}", time.as_secs_f64() * units_per_second)
    }
}

/// One time by itself, with three significant digits and its unit.
pub(crate) fn single_time(time: Duration) -> String {
    TimeScale::for_smallest(time).show(time)
}

/// Pads numbers with blanks on the right so that, flush right, their decimal points stand under each other.
pub(crate) fn align_points(numbers: &mut [String]) {
    let fraction = |number: &str| number.find('.').map_or(0, |point| number.len() - point);
    let widest = numbers.iter().map(|number| fraction(number)).max().unwrap_or(0);
    for number in numbers {
        let missing = widest - fraction(number);
        number.extend(std::iter::repeat_n(' ', missing));
    }
}

/// An estimate and its interval: `0.72 [0.70, 0.74]`.
pub(crate) fn ratio_cell(estimate: &RatioEstimate) -> String {
    let ratio = time_ratio(estimate.ratio);
    match &estimate.interval {
        Some(interval) => format!("{ratio} [{}, {}]", time_ratio(interval.low), time_ratio(interval.high)),
        None => ratio,
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
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (850_123, "850,123"), (1_000_000, "1,000,000")]
        {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn ratios_keep_two_significant_digits() {
        for (ratio, text) in [(0.718, "0.72"), (1.0, "1.00"), (12.345, "12.35"), (0.0414, "0.041"), (0.00414, "0.0041")]
        {
            assert_eq!(time_ratio(ratio), text);
        }
        assert_eq!(size_ratio(985, 1000), "0.985");
        assert_eq!(size_ratio(985, 0), "-");
    }

    #[test]
    fn a_group_s_times_share_the_unit_of_the_smallest() {
        let scale = TimeScale::for_smallest(Duration::from_millis(85));
        assert_eq!(scale.show(Duration::from_millis(85)), "85.0 ms");
        assert_eq!(scale.show(Duration::from_millis(1234)), "1234.0 ms");
        for (time, text) in [
            (Duration::from_millis(2881), "2.88 s"),
            (Duration::from_secs(123), "123 s"),
            (Duration::from_micros(999_600), "1.00 s"),
            (Duration::from_micros(1234), "1.23 ms"),
            (Duration::from_nanos(45_670), "45.7 us"),
            (Duration::ZERO, "0.00 us"),
        ] {
            assert_eq!(single_time(time), text);
        }
    }

    #[test]
    fn parts_are_shown_in_percent() {
        assert_eq!([0.0123, -0.0123, -0.0001, 0.5].map(signed_percent), ["+1.2", "-1.2", "+0.0", "+50.0"]);
        assert_eq!([0.0, 0.0123, 0.0999, 0.5].map(share), ["0.0 %", "1.2 %", "10 %", "50 %"]);
    }

    #[test]
    fn points_stand_under_each_other() {
        let mut numbers = ["493", "38.0", "1.23", "<0.001"].map(str::to_owned);
        align_points(&mut numbers);
        assert_eq!(numbers, ["493    ", "38.0  ", "1.23 ", "<0.001"]);
    }
}
