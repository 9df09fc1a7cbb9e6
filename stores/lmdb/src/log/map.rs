//! A log as memory: what is written there is with the system at once, for a tenth of what a call costs.
//!
//! Where the disk has no place for a page that is written to, the system ends the process. So only that part of a log is
//! mapped which was written by calls before, and only on file systems that leave a page where it is: one that copies what
//! it writes may need another place for it each time.

use std::fs::File;

use memmap2::MmapMut;

/// Whether a map of this file may be written to.
pub(super) fn is_safe(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// How ext2 to ext4, XFS and tmpfs name themselves.
        const IN_PLACE: [u64; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];
        rustix::fs::fstatfs(file)
            .is_ok_and(|system| u64::try_from(system.f_type).is_ok_and(|kind| IN_PLACE.contains(&kind)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

/// The length of a file whose pages all have their places on the disk; zero if some may not.
pub(super) fn whole(file: &File) -> std::io::Result<u64> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let file = file.metadata()?;
        Ok(if file.blocks().saturating_mul(512) >= file.len() { file.len() } else { 0 })
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(0)
    }
}

/// The whole file as memory; `None` if the system has no room for it.
#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
pub(super) fn map(file: &File) -> Option<MmapMut> {
    // SAFETY: the file is a log, which only the process that has the right to write changes: this one. It is not made
    // shorter while there is a map of it (`cut`). That other programs do not change it is asked of the user in the README.
    unsafe { MmapMut::map_mut(file) }.ok()
}
