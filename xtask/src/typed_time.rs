//! Times on command lines.

use std::time::Duration;

/// The time that `90s`, `30m` or `2h` names; `None` for anything else, and for no time.
pub(crate) fn parse_time(typed: &str) -> Option<Duration> {
    let (number, unit) = typed.split_at_checked(typed.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        let seconds = |typed| parse_time(typed).map(|time| time.as_secs());
        assert_eq!(["90s", "5m", "2h"].map(seconds), [Some(90), Some(300), Some(7200)]);
        let too_long = format!("{}h", u64::MAX);
        assert_eq!(["", "5", "m", "0s", "-1m", "5x", &too_long].map(seconds), [None; 7]);
    }
}
