//! The factors in which stress runs differ, and the runs in which every two factors are combined.

use std::fmt;

/// A factor in which a run differs from the first, calm run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Factor {
    /// Two busy loops for each core.
    Load,
    /// The folder of fixtures is on a disk that syncs every write. If all factors apply, so is the folder for temporary
    /// files.
    SlowDisk,
    /// Tests in a random order.
    RandomOrder,
    /// Eight tests at once instead of one.
    EightThreads,
    /// An ordinary user instead of root.
    OrdinaryUser,
    /// A checkout whose path has 200 characters with a space, instead of five.
    LongPath,
    /// Temporary files on a disk instead of in memory.
    OnDisk,
    /// A foreign time zone and language.
    Elsewhere,
    /// A umask of 077.
    Umask,
    /// No HOME.
    NoHome,
    /// The oldest git on the PATH instead of the first.
    OldGit,
}

/// Every factor, and the mixed runs in which it applies: four of the six, a different set for each factor.
///
/// Two different sets of four of six runs have a run in common, and each has a run that the other lacks. The calm run
/// has neither factor. So every two factors occur in all four combinations (Kleitman and Spencer, 1973).
const FACTORS: [(Factor, u8); 11] = [
    (Factor::Load, 0b00_1111),
    (Factor::SlowDisk, 0b11_0011),
    (Factor::RandomOrder, 0b01_1011),
    (Factor::EightThreads, 0b01_1101),
    (Factor::OrdinaryUser, 0b01_1110),
    (Factor::LongPath, 0b10_0111),
    (Factor::OnDisk, 0b10_1011),
    (Factor::Elsewhere, 0b10_1101),
    (Factor::Umask, 0b10_1110),
    (Factor::NoHome, 0b01_0111),
    (Factor::OldGit, 0b11_0101),
];

/// The environment of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    /// The number of the run, counted from 1.
    pub(super) number: usize,
}

impl Setting {
    /// The number of runs with some of the factors. They follow a run without any and precede a run with all.
    const MIXED: usize = 6;

    /// Every run.
    pub(super) fn all() -> impl Iterator<Item = Setting> {
        (1..=Self::MIXED + 2).map(|number| Setting { number })
    }

    /// Whether all factors apply.
    pub(super) fn has_all(self) -> bool {
        self.number == Self::MIXED + 2
    }

    /// Whether `factor` applies.
    pub(super) fn has(self, factor: Factor) -> bool {
        match self.number {
            1 => false,
            _ if self.has_all() => true,
            number => FACTORS.iter().any(|(found, runs)| *found == factor && runs >> (number - 2) & 1 == 1),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let either = |factor, yes, no| if self.has(factor) { yes } else { no };
        let words = [
            either(Factor::EightThreads, "8 threads", "1 thread"),
            either(Factor::OrdinaryUser, "ordinary user", "root"),
            either(Factor::LongPath, "path of 200 with a space", "path of 5"),
            either(Factor::OnDisk, "TMPDIR on disk", "TMPDIR in memory"),
            either(Factor::OldGit, "oldest git", "first git"),
            either(Factor::Load, "busy loops", ""),
            either(Factor::SlowDisk, "slow disk", ""),
            either(Factor::RandomOrder, "random order", ""),
            either(Factor::Elsewhere, "tr_TR, Asia/Kathmandu", ""),
            either(Factor::Umask, "umask 077", ""),
            either(Factor::NoHome, "no HOME", ""),
        ];
        f.write_str(&words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_factors_occur_in_all_combinations() {
        for (number, (one, _)) in FACTORS.iter().enumerate() {
            for (other, _) in &FACTORS[number + 1..] {
                for ways in [(false, false), (false, true), (true, false), (true, true)] {
                    let meets = Setting::all().any(|setting| (setting.has(*one), setting.has(*other)) == ways);
                    assert!(meets, "{one:?} and {other:?} never meet as {ways:?}");
                }
            }
        }
    }

    #[test]
    fn first_run_has_no_factor_and_last_has_all() {
        let counts: Vec<usize> =
            Setting::all().map(|setting| FACTORS.iter().filter(|(factor, _)| setting.has(*factor)).count()).collect();
        assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&FACTORS.len())));
        assert!(Setting { number: 1 }.to_string().starts_with("1 thread, root, path of 5"));
    }
}
