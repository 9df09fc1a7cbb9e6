//! Bytes that reach the disk, counted where they arrive: what a process says of itself counts a page of a map again each
//! time that it is written.

use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_workload::Error;

/// The counter of the disk that a folder is on.
pub(crate) struct Device {
    folder: PathBuf,
    counter: PathBuf,
}

impl Device {
    /// `None` if the system does not count for this folder: it is no Linux, or the folder is not on a disk.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let number = std::fs::metadata(folder).ok()?.dev();
        let (major, minor) = ((number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xF_FF00));
        let counter = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        counter.exists().then(|| Self { folder: folder.to_owned(), counter })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_: &Path) -> Option<Self> {
        None
    }

    /// The bytes that were written so far, all that waits in the system's memory included.
    pub(crate) fn written(&self) -> Result<u64, Error> {
        let synced = Command::new("sync").arg("-f").arg(&self.folder).status()?;
        if !synced.success() {
            return Err("`sync -f` failed".into());
        }
        let line = std::fs::read_to_string(&self.counter)?;
        let sectors = line.split_whitespace().nth(6).ok_or("the disk's counter has no field for writes")?;
        Ok(sectors.parse::<u64>()? * 512)
    }
}
