//! Devices to model.

use clap::Args;
use repackbench_timing::trace::Device;

/// The devices to model.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Device to model a cold start on: hdd, sata-ssd, nvme, or its latency, bandwidth and readahead, as in
    /// latency=8ms,bandwidth=200MB/s,readahead=128k; may be repeated. `trace` models the three named ones by default,
    /// `bench` none. Modelled times come from an untimed access trace, and get no verdict.
    #[arg(long = "device", value_name = "DEVICE", help_heading = super::EXPERT)]
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
