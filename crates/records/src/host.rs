//! The machine that measured.

use std::{fs, num::NonZero, thread};

use serde::{Deserialize, Serialize};

/// A machine, as far as it matters to read a time. What the system does not tell is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The processor's name as the kernel gives it.
    pub cpu_model: Option<String>,
    /// How many cores this process may use.
    pub cores: Option<u32>,
    /// The kernel's name and release, as in `Linux 6.12.0`.
    pub kernel: Option<String>,
    /// Physical memory, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Host {
    /// This machine, from `/proc`.
    pub fn current() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Host {
            cpu_model: read("/proc/cpuinfo").as_deref().and_then(cpu_model),
            cores: thread::available_parallelism().ok().map(NonZero::get).and_then(|cores| cores.try_into().ok()),
            kernel: read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {}", release.trim())),
            memory_bytes: read("/proc/meminfo").as_deref().and_then(memory_bytes),
        }
    }
}

/// The first processor's name in the text of `/proc/cpuinfo`. The x86 kernel calls the line `model name`; kernels of
/// other architectures call it `Processor`, `cpu` or `cpu model`.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "cpu model", "cpu"].into_iter().find_map(|wanted| {
        cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == wanted)
            .map(|(_, value)| value.trim().to_owned())
    })
}

/// The `MemTotal` line in the text of `/proc/meminfo`, which counts in units of 1024 bytes.
fn memory_bytes(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_model_is_found_under_each_architecture_s_name() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 3GHz\n").as_deref(), Some("Some CPU @ 3GHz"));
        assert_eq!(cpu_model("cpu\t\t: POWER9\nclock\t: 2GHz\n").as_deref(), Some("POWER9"));
        assert_eq!(cpu_model("nothing here\n"), None);
    }

    #[test]
    fn memory_is_converted_to_bytes() {
        assert_eq!(memory_bytes("MemTotal:       16 kB\nMemFree: 3 kB\n"), Some(16 * 1024));
        assert_eq!(memory_bytes("MemTotal: lots\n"), None);
        assert_eq!(memory_bytes("MemTotal: 18446744073709551615 kB"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_current_host_is_known() {
        let host = Host::current();
        assert!(host.cores >= Some(1));
        assert!(host.memory_bytes > Some(1 << 20));
        assert!(host.kernel.is_some_and(|kernel| kernel.starts_with("Linux ") && !kernel.ends_with('\n')));
    }
}
