//! Devices to model.

use clap::Args;
use repackbench_timing::trace::Device;

/// The devices to model.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Also model a cold start on this device, a column for each: hdd, sata-ssd, nvme, or its latency, bandwidth and readahead, as in
    /// latency=8ms,bandwidth=200MB/s,readahead=128k; may be given several times. Modelled times come from an untimed access trace, as
    /// those of `trace` do, and get no verdict.
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<Device>,
}

impl DeviceArguments {
    /// Every device once.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for device in &self.devices {
            if !devices.contains(device) {
                devices.push(device.clone());
            }
        }
        devices
    }
}
