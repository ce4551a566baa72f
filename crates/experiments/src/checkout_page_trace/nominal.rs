//! How many cycles a time comes to.

use std::fs;

/// The clock that a processor is sold with, or that the kernel says it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NominalClock {
    /// Cycles in a second.
    pub(super) hertz: f64,
    /// Where that is from.
    source: &'static str,
}

impl NominalClock {
    /// That of this machine's first processor, if `/proc/cpuinfo` tells.
    pub(super) fn current() -> Option<Self> {
        fs::read_to_string("/proc/cpuinfo").ok().as_deref().and_then(Self::of)
    }

    /// The one in a text like that of `/proc/cpuinfo`: the end of the processor's name, or else the clock as the kernel sees it.
    fn of(cpuinfo: &str) -> Option<Self> {
        let value = |wanted: &str| {
            let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
        };
        let in_name = value("model name").and_then(|name| name.rsplit_once("@ ")?.1.strip_suffix("GHz"));
        let (number, scale, source) = match in_name {
            Some(gigahertz) => (gigahertz, 1e9, "the processor's name"),
            None => (value("cpu MHz")?, 1e6, "the line cpu MHz of /proc/cpuinfo"),
        };
        let hertz = number.trim().parse::<f64>().ok()? * scale;
        (hertz.is_finite() && hertz > 0.0).then_some(NominalClock { hertz, source })
    }

    /// In a sentence.
    pub(super) fn note(&self) -> String {
        format!("Cycles are elapsed time at {:.2} GHz, by {}; none were counted.", self.hertz / 1e9, self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_comes_before_the_present_clock() {
        let of = |text| NominalClock::of(text).map(|clock| clock.hertz);
        assert_eq!(of("model name\t: Some CPU @ 2.50GHz\ncpu MHz\t\t: 1200.5\n"), Some(2.5e9));
        assert_eq!(of("model name\t: Some CPU\ncpu MHz\t\t: 1200.5\n"), Some(1200.5e6));
        assert_eq!(of("processor\t: 0\n"), None);
        assert_eq!(of("cpu MHz\t\t: fast\n"), None);
        assert_eq!(of("cpu MHz\t\t: 0\n"), None);
        let clock = NominalClock::of("cpu MHz\t: 2600\n").unwrap();
        assert!(clock.note().contains("2.60 GHz, by the line cpu MHz"), "{}", clock.note());
    }
}
