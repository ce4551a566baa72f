//! Figures in sentences, of times shorter and of shares nearer to all than other experiments have.

/// A time with three digits or so.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        100.0.. => format!("{seconds:.0} s"),
        10.0.. => format!("{seconds:.1} s"),
        1.0.. => format!("{seconds:.2} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        0.001.. => format!("{:.1} ms", seconds * 1e3),
        0.000_01.. => format!("{:.0} us", seconds * 1e6),
        0.000_001.. => format!("{:.1} us", seconds * 1e6),
        _ => format!("{:.0} ns", seconds * 1e9),
    }
}

/// A part of 1 in percent: 100 % is all, and 0 % is none.
pub(super) fn percent(part: f64) -> String {
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
pub(super) fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
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
            [0.0, 0.000_123, 0.6, 0.731, 0.9996, 1.0].map(percent),
            ["0 %", "0.012 %", "60.0 %", "73.1 %", "99.960 %", "100 %"]
        );
        assert_eq!((count(1, "page", "pages"), count(0, "page", "pages")), ("1 page".into(), "0 pages".into()));
    }
}
