//! Ratios in words.

use repackbench_records::{FleetCodec, FleetRatios};

use crate::number::share;

/// Changes that round to nothing.
const NOTHING: f64 = 0.0005;

/// A change of size: `12 % smaller`.
pub(super) fn size_words(ratio: f64) -> String {
    change(ratio, ["smaller", "larger"], "of the same size")
}

/// A change of time: `45 % less CPU time`.
pub(super) fn time_words(ratio: f64) -> String {
    change(ratio, ["less CPU time", "more CPU time"], "the same CPU time")
}

fn change(ratio: f64, [less, more]: [&str; 2], same: &str) -> String {
    let part = (ratio - 1.0).abs();
    match ratio {
        _ if part < NOTHING => same.to_owned(),
        ..1.0 => format!("{} {less}", share(part)),
        _ => format!("{} {more}", share(part)),
    }
}

/// Geometric mean, and in brackets the total: `12 % smaller (14 %)`. The total names its direction only if it is the other one.
fn both(ratios: &FleetRatios, words: fn(f64) -> String) -> String {
    let (mean, total) = (words(ratios.mean), words(ratios.total));
    let direction = |words: &str| words.split_once(" % ").map(|(_, direction)| direction.to_owned());
    let is_same = direction(&mean) == direction(&total) && direction(&mean).is_some();
    let short = total.split_once(" % ").map(|(number, _)| format!("{number} %"));
    let total = if is_same { short.unwrap_or(total) } else { total };
    format!("{mean} ({total})")
}

/// What a codec does to size and CPU time: `12 % smaller (14 %) at 45 % less CPU time (50 %)`.
pub(super) fn effect(codec: &FleetCodec) -> String {
    let size = both(&codec.size, size_words);
    codec.cpu.map_or_else(|| size.clone(), |cpu| format!("{size} at {}", both(&cpu, time_words)))
}

/// Names with commas and a final `and`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_in_words() {
        let words = [0.875, 1.021, 1.0001].map(size_words);
        assert_eq!(words, ["12 % smaller", "2.1 % larger", "of the same size"]);
        let ratios = |mean, total| FleetRatios { total, mean, quantiles: [1.0; 5] };
        assert_eq!(both(&ratios(0.5, 0.4), time_words), "50 % less CPU time (60 %)");
        assert_eq!(both(&ratios(0.99, 1.02), size_words), "1.0 % smaller (2.0 % larger)");
        assert_eq!(both(&ratios(1.0, 1.0), size_words), "of the same size (of the same size)");
    }

    #[test]
    fn names_are_listed() {
        let names = |names: &[&str]| listed(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!([names(&[]), names(&["a"]), names(&["a", "b", "c"])], ["", "a", "a, b and c"]);
    }
}
