//! In what surroundings the tests have to pass, and the runs in which every two of them meet.

use std::fmt;

/// What a run differs in from a calm one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Factor {
    /// Two busy loops a core.
    Load,
    /// The folder of fixtures on a disk that syncs every write; where all factors apply, that of temporary files, too.
    SlowDisk,
    /// Tests in a random order.
    RandomOrder,
    /// Eight tests at once, and not one.
    EightThreads,
    /// An ordinary user, and not root.
    OrdinaryUser,
    /// A checkout whose path has 200 characters and a space, and not five.
    LongPath,
    /// Temporary files on a disk, and not in memory.
    OnDisk,
    /// A time zone and a language of elsewhere.
    Elsewhere,
    /// A umask of 077.
    Umask,
    /// No HOME.
    NoHome,
    /// The oldest git on the PATH, and not the first.
    OldGit,
}

/// Every factor, and the runs of [`Setting::MIXED`] in which it applies: four of six, another four each. Two sets of four of six have
/// a run in common, and each has one that the other lacks; the calm run has neither. So every two factors meet in all four ways
/// (Kleitman and Spencer, 1973).
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

/// One run's surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its number, counted from 1.
    pub(super) number: usize,
}

impl Setting {
    /// How many runs mix factors, between one without any and one with all of them.
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
    fn every_two_factors_meet_in_all_four_ways() {
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
    fn the_first_run_is_calm_and_the_last_has_everything() {
        let counts: Vec<usize> =
            Setting::all().map(|setting| FACTORS.iter().filter(|(factor, _)| setting.has(*factor)).count()).collect();
        assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&FACTORS.len())));
        assert!(Setting { number: 1 }.to_string().starts_with("1 thread, root, path of 5"));
    }
}
