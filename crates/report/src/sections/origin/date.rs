//! Dates and times for people.

/// A time in milliseconds since 1970-01-01 as `2026-11-22 02:20 UTC`.
pub(super) fn date_and_time(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let (year, month, day) = date(minutes / (24 * 60));
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

/// Year, month and day of the given day since 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years start in March here, so that a leap day is the last day of its year; 400 years have 146,097 days.
    let days = days.saturating_add(719_468);
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_match_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_767_225_599, "2025-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date_and_time(seconds * 1000), text);
        }
        assert!(date_and_time(u64::MAX).ends_with("UTC"));
    }
}
