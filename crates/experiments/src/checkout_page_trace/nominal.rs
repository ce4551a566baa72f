//! The processor's nominal clock, which turns times into cycles.

use std::fs;

use repackbench_records::{Figure, Statement, Unit};

/// The clock in the processor's name, or else the clock that the kernel reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NominalClock {
    /// Cycles in a second.
    pub(super) hertz: f64,
    /// The statement that names where it is from.
    source: &'static str,
}

impl NominalClock {
    /// The clock of this machine's first processor, if `/proc/cpuinfo` has it.
    pub(super) fn current() -> Option<Self> {
        fs::read_to_string("/proc/cpuinfo").ok().as_deref().and_then(Self::of)
    }

    /// The clock in a text like `/proc/cpuinfo`: at the end of the processor's name, or else in the line of the
    /// kernel's own figure.
    fn of(cpuinfo: &str) -> Option<Self> {
        let value = |wanted: &str| {
            let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
        };
        let in_name = value("model name").and_then(|name| name.rsplit_once("@ ")?.1.strip_suffix("GHz"));
        let (number, scale, source) = match in_name {
            Some(gigahertz) => (gigahertz, 1e9, "processor-name"),
            None => (value("cpu MHz")?, 1e6, "cpu-mhz-line"),
        };
        let hertz = number.trim().parse::<f64>().ok()? * scale;
        (hertz.is_finite() && hertz > 0.0).then_some(NominalClock { hertz, source })
    }

    /// A note on how cycles were computed.
    pub(super) fn note(&self) -> Statement {
        let megahertz = Figure::exact((self.hertz / 1e6).round(), Unit::Count);
        Statement::new("cycles-computed").with("megahertz", megahertz).with("source", Statement::new(self.source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::reason;

    #[test]
    fn name_of_the_processor_comes_before_the_current_clock() {
        let of = |text| NominalClock::of(text).map(|clock| clock.hertz);
        assert_eq!(of("model name\t: Some CPU @ 2.50GHz\ncpu MHz\t\t: 1200.5\n"), Some(2.5e9));
        assert_eq!(of("model name\t: Some CPU\ncpu MHz\t\t: 1200.5\n"), Some(1200.5e6));
        assert_eq!(of("processor\t: 0\n"), None);
        assert_eq!(of("cpu MHz\t\t: fast\n"), None);
        assert_eq!(of("cpu MHz\t\t: 0\n"), None);
        let clock = NominalClock::of("cpu MHz\t: 2600\n").unwrap();
        let note = reason(&[clock.note()]);
        assert!(note.contains("2,600 MHz, according to the line cpu MHz"), "{note}");
    }
}
