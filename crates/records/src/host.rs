//! The machine that measured.

use std::{collections::BTreeMap, fs, num::NonZero, path::Path, thread};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine and its software, as far as they matter for reading a time. Fields are `None` if the system does not
/// report them, or if a record of version 1 does not have them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// The processor's name as the kernel gives it.
    pub cpu_model: Option<String>,
    /// The number of cores that this process may use.
    pub cores: Option<u32>,
    /// The kernel's name and release, as in `Linux 6.12.0`.
    pub kernel: Option<String>,
    /// Physical memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Whether a hypervisor runs it.
    pub virtualised: Option<bool>,
    /// The storage of the source.
    pub source_storage: Option<Storage>,
    /// The storage of its variants.
    pub variant_storage: Option<Storage>,
    /// The versions of the codec libraries by their names.
    pub libraries: BTreeMap<String, String>,
    /// The version of the git on PATH.
    pub git: Option<String>,
    /// The version of the hg on PATH.
    pub hg: Option<String>,
}

/// The storage of some files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// The file system's type, as in `ext4`.
    pub file_system: Option<String>,
    /// Whether the file system has a journal. Only known for ext4.
    pub has_journal: Option<bool>,
    /// How much the kernel reads ahead of a sequential reader, in bytes.
    pub readahead_bytes: Option<u64>,
    /// Whether the device reports that it has platters.
    pub rotational: Option<bool>,
}

impl Host {
    /// This machine, from `/proc`. The caller adds storage and software: it knows where the files are.
    pub fn current() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let cpuinfo = read("/proc/cpuinfo");
        Host {
            cpu_model: cpuinfo.as_deref().and_then(cpu_model),
            cores: thread::available_parallelism().ok().map(NonZero::get).and_then(|cores| cores.try_into().ok()),
            kernel: read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {}", release.trim())),
            memory_bytes: read("/proc/meminfo").as_deref().and_then(memory_bytes),
            virtualised: virtualised(cpuinfo.as_deref(), read("/sys/class/dmi/id/product_name").as_deref()),
            ..Host::default()
        }
    }
}

/// What distinguishes machines in records: see [`Host::machine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Machine<'a> {
    /// The processor's name.
    pub cpu_model: Option<&'a str>,
    /// The number of cores.
    pub cores: Option<u32>,
    /// Physical memory, in tenths of a gigabyte.
    pub memory_tenths: Option<u64>,
    /// Whether it is known to be virtual.
    pub is_virtual: bool,
}

/// Memory is compared in these units, because the kernel reserves a slightly different amount at each boot.
const MEMORY_UNIT: u64 = 100_000_000;

impl Host {
    /// Processor, cores, memory in tenths of a gigabyte, and whether it is known to be virtual. Two machines that agree
    /// in all of these count as one. Software and kernel are not part of the identity: an update would separate results
    /// that belong together.
    pub fn machine(&self) -> Machine<'_> {
        Machine {
            cpu_model: self.cpu_model.as_deref(),
            cores: self.cores,
            memory_tenths: self.memory_bytes.map(|bytes| bytes.saturating_add(MEMORY_UNIT / 2) / MEMORY_UNIT),
            is_virtual: self.virtualised == Some(true),
        }
    }

    /// The same in words, as in `Some CPU @ 3GHz, 2 cores, 8.3 GB, virtual`.
    pub fn description(&self) -> String {
        let Machine { cpu_model, cores, memory_tenths, is_virtual } = self.machine();
        let words = [
            cpu_model.map(str::to_owned),
            cores.map(|cores| format!("{cores} {}", if cores == 1 { "core" } else { "cores" })),
            memory_tenths.map(|tenths| format!("{}.{} GB", tenths / 10, tenths % 10)),
            is_virtual.then(|| "virtual".to_owned()),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() { "an unknown machine".to_owned() } else { words.join(", ") }
    }
}

impl Storage {
    /// The storage of the file or folder at `path`; `None` if the path does not exist or the system does not report it.
    #[cfg(target_os = "linux")]
    pub fn of(path: &Path) -> Option<Self> {
        use std::{ffi::OsStr, os::unix::fs::MetadataExt};

        let device = device_number(fs::metadata(path).ok()?.dev());
        let read = |path: String| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        // A partition uses the queue of its disk, one folder up. File systems on several disks have no queue.
        let queue = |name: &str| {
            let block = format!("/sys/dev/block/{device}");
            read(format!("{block}/queue/{name}")).or_else(|| read(format!("{block}/../queue/{name}")))
        };
        let readahead = queue("read_ahead_kb").or_else(|| read(format!("/sys/class/bdi/{device}/read_ahead_kb")));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        // By the kernel's name of the device, such as vda1 or dm-0.
        let name = fs::read_link(format!("/sys/dev/block/{device}")).ok();
        let name = name.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
        Some(Storage {
            file_system: file_system(&mounts, &device),
            has_journal: name
                .and_then(|name| read(format!("/sys/fs/ext4/{name}/journal_task")))
                .map(|task| has_journal(&task)),
            readahead_bytes: readahead.and_then(|kibibytes| kibibytes.parse::<u64>().ok()?.checked_mul(1024)),
            rotational: queue("rotational").map(|flag| flag == "1"),
        })
    }

    /// The storage of the file or folder at `path`: unknown on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_path: &Path) -> Option<Self> {
        None
    }
}

impl Storage {
    /// Whether creating files becomes many times slower shortly after other files were removed. ext4 without a journal
    /// does not reuse an inode for one to five minutes, and the search for a free inode passes all of them for every
    /// new file (`recently_deleted` in the kernel's `fs/ext4/ialloc.c`).
    pub fn is_slow_after_removals(&self) -> bool {
        self.has_journal == Some(false)
    }
}

/// Whether the text of ext4's `journal_task` names the process that writes a journal.
fn has_journal(task: &str) -> bool {
    task.parse::<u32>().is_ok()
}

/// `major:minor` of a device number as the C library packs it (makedev(3)).
fn device_number(device: u64) -> String {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & 0xffff_f000);
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    format!("{major}:{minor}")
}

/// The type of the file system on `device`, in the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)): the field
/// after the lone hyphen.
fn file_system(mountinfo: &str, device: &str) -> Option<String> {
    let mount = mountinfo.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    let (_, rest) = mount.split_once(" - ")?;
    rest.split(' ').next().map(str::to_owned)
}

/// Whether a hypervisor runs this machine: x86 processors have a flag for it; elsewhere the firmware's product name may
/// show it. `None` if neither is known.
fn virtualised(cpuinfo: Option<&str>, product: Option<&str>) -> Option<bool> {
    const HYPERVISORS: [&str; 6] = ["kvm", "qemu", "vmware", "virtualbox", "virtual machine", "hvm"];
    let product = product.map(str::to_lowercase);
    if product.is_some_and(|product| HYPERVISORS.iter().any(|name| product.contains(name))) {
        return Some(true);
    }
    let lines = cpuinfo.unwrap_or_default().lines().filter_map(|line| line.split_once(':'));
    let mut flags = lines.filter(|(name, _)| name.trim() == "flags").map(|(_, flags)| flags);
    flags.next().map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
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
    fn cpu_model_found_for_each_architecture() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 3GHz\n").as_deref(), Some("Some CPU @ 3GHz"));
        assert_eq!(cpu_model("cpu\t\t: POWER9\nclock\t: 2GHz\n").as_deref(), Some("POWER9"));
        assert_eq!(cpu_model("nothing here\n"), None);
    }

    #[test]
    fn memory_converted_to_bytes() {
        assert_eq!(memory_bytes("MemTotal:       16 kB\nMemFree: 3 kB\n"), Some(16 * 1024));
        assert_eq!(memory_bytes("MemTotal: lots\n"), None);
        assert_eq!(memory_bytes("MemTotal: 18446744073709551615 kB"), None);
    }

    #[test]
    fn machine_described_by_known_facts() {
        let host = Host {
            cpu_model: Some("Some CPU @ 3GHz".into()),
            cores: Some(2),
            memory_bytes: Some(8_312_000_000),
            virtualised: Some(true),
            kernel: Some("Linux 6.12.0".into()),
            ..Host::default()
        };
        assert_eq!(host.description(), "Some CPU @ 3GHz, 2 cores, 8.3 GB, virtual");
        assert_eq!(Host { cores: Some(1), ..Host::default() }.description(), "1 core");
        assert_eq!(Host::default().description(), "an unknown machine");
        let with_git = Host { git: Some("git version 2.47.3".into()), ..host.clone() };
        assert_eq!(with_git.machine(), host.machine(), "software makes no other machine");
        assert_ne!(Host { cores: Some(4), ..host.clone() }.machine(), host.machine());
    }

    /// Otherwise two tables would have the same heading, or one table two.
    #[test]
    fn machines_equal_exactly_if_descriptions_equal() {
        let host = Host { cores: Some(2), memory_bytes: Some(8_312_000_000), ..Host::default() };
        let variations = [
            Host { memory_bytes: Some(8_312_004_096), ..host.clone() },
            Host { kernel: Some("Linux 6.12.1".into()), ..host.clone() },
            Host { virtualised: Some(false), ..host.clone() },
            Host { virtualised: Some(true), ..host.clone() },
            Host { memory_bytes: Some(8_412_000_000), ..host.clone() },
            Host { memory_bytes: None, ..host.clone() },
            Host { cpu_model: Some("Some CPU".into()), ..host.clone() },
        ];
        let is_same: Vec<bool> = variations.iter().map(|other| other.machine() == host.machine()).collect();
        assert_eq!(is_same, [true, true, true, false, false, false, false]);
        for (other, is_same) in variations.iter().zip(is_same) {
            assert_eq!(other.description() == host.description(), is_same, "{}", other.description());
        }
        assert_eq!(Host { memory_bytes: Some(u64::MAX), ..host }.machine().memory_tenths, Some(u64::MAX / MEMORY_UNIT));
    }

    #[test]
    fn hypervisor_detected_by_flag_or_product_name() {
        let flags = |flags: &str| format!("processor\t: 0\nflags\t\t: {flags}\n");
        assert_eq!(virtualised(Some(&flags("fpu sse hypervisor lm")), None), Some(true));
        assert_eq!(virtualised(Some(&flags("fpu sse lm")), Some("X570 Taichi\n")), Some(false));
        assert_eq!(virtualised(Some("Features\t: fp asimd\n"), Some("KVM Virtual Machine\n")), Some(true));
        assert_eq!(virtualised(Some("Features\t: fp asimd\n"), None), None);
    }

    #[test]
    fn file_system_found_by_device() {
        let mounts = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n30 27 0:25 / /tmp rw - tmpfs tmpfs rw\n";
        assert_eq!(file_system(mounts, "254:0").as_deref(), Some("ext4"));
        assert_eq!(file_system(mounts, "0:25").as_deref(), Some("tmpfs"));
        assert_eq!(file_system(mounts, "8:1"), None);
        assert_eq!(device_number(0xfe00), "254:0");
        // The minor number's higher bits start at bit 20, the major number's at bit 44.
        assert_eq!(device_number(0x1000_1012_0834), format!("{}:{}", 0x1208, 0x1_0134));
    }

    #[test]
    fn ext4_without_journal_is_slow_after_removals() {
        assert!(has_journal("3958"));
        assert!(!has_journal("<none>"));
        let storage = |has_journal| Storage { has_journal, ..Storage::default() };
        assert!(storage(Some(false)).is_slow_after_removals());
        assert!(!storage(Some(true)).is_slow_after_removals());
        assert!(!storage(None).is_slow_after_removals(), "another file system");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn storage_of_folder_is_known() {
        let storage = Storage::of(Path::new("/proc")).unwrap();
        assert_eq!((storage.file_system.as_deref(), storage.has_journal), (Some("proc"), None));
        assert_eq!(Storage::of(Path::new("/no/such/folder")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn current_host_is_known() {
        let host = Host::current();
        assert!(host.cores >= Some(1));
        assert!(host.memory_bytes > Some(1 << 20));
        assert!(host.kernel.is_some_and(|kernel| kernel.starts_with("Linux ") && !kernel.ends_with('\n')));
    }
}
