//! Figures and lists in sentences.

use std::time::Duration;

use repackbench_records::Estimate;

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A time with three digits or so.
pub(crate) fn time(time: Duration) -> String {
    seconds(time.as_secs_f64())
}

/// The same of seconds.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        100.0.. => format!("{seconds:.0} s"),
        10.0.. => format!("{seconds:.1} s"),
        1.0.. => format!("{seconds:.2} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        0.001.. => format!("{:.1} ms", seconds * 1e3),
        0.000_01.. => format!("{:.0} us", seconds * 1e6),
        0.000_001.. => format!("{:.1} us", seconds * 1e6),
        0.000_000_000_5.. => format!("{:.0} ns", seconds * 1e9),
        _ => "0 s".to_owned(),
    }
}

/// A ratio: two decimals, or as many as two digits need.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        100.0.. => format!("{ratio:.0}"),
        10.0.. => format!("{ratio:.1}"),
        0.0995.. => format!("{ratio:.2}"),
        _ => format!("{ratio:.3}"),
    }
}

/// A ratio of sizes, which is exact.
pub(crate) fn size_ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// A ratio with its interval.
pub(crate) fn estimate(estimate: &Estimate) -> String {
    match estimate.interval {
        Some([low, high]) => format!("{} [{}, {}]", ratio(estimate.value), ratio(low), ratio(high)),
        None => ratio(estimate.value),
    }
}

/// A part of 1 in percent.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The same where it matters that something is nearly all, or nearly none: only all is 100 %, and only none is 0 %.
pub(crate) fn share(part: f64) -> String {
    let percent = part * 100.0;
    if part == 0.0 || part == 1.0 {
        format!("{percent:.0} %")
    } else if !(0.1..=99.9).contains(&percent) {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A count with its word, as in `1 page`, `3 pages`.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Bytes in MB (10^6 bytes).
pub(crate) fn megabytes(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    match megabytes {
        100.0.. => format!("{megabytes:.0} MB"),
        10.0.. => format!("{megabytes:.1} MB"),
        _ => format!("{megabytes:.2} MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(
            [3e-7, 4.2e-6, 0.000_42, 0.0042, 0.0423, 1.234, 27.44, 315.2].map(seconds),
            ["300 ns", "4.2 us", "420 us", "4.2 ms", "42 ms", "1.23 s", "27.4 s", "315 s"]
        );
        assert_eq!(
            [0.0, 0.000_123, 0.6, 0.731, 0.9996, 1.0].map(share),
            ["0 %", "0.012 %", "60.0 %", "73.1 %", "99.960 %", "100 %"]
        );
        assert_eq!((count(1, "page", "pages"), count(0, "page", "pages")), ("1 page".into(), "0 pages".into()));
        assert_eq!([0.0123, 0.5, 1.0, 12.34, 123.4].map(ratio), ["0.012", "0.50", "1.00", "12.3", "123"]);
        assert_eq!([0.031, 0.5].map(percent), ["3.1 %", "50 %"]);
        assert_eq!([4.3e6, 43e6, 2.6e9].map(megabytes), ["4.30 MB", "43.0 MB", "2600 MB"]);
        let with = Estimate { value: 0.5, interval: Some([0.4, 0.625]), samples: vec![] };
        assert_eq!((estimate(&with), estimate(&Estimate::exact(2.0))), ("0.50 [0.40, 0.62]".into(), "2.00".into()));
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            (list(&items[..1]), list(&items[..2]), list(&items)),
            ("a".into(), "a and b".into(), "a, b and c".into())
        );
    }
}
