//! A log as memory: what is written there is with the system at once, for a tenth of what a call costs.
//!
//! Where the disk has no place for a page that is written to, the system ends the process. So only that part of a log is
//! mapped which was written by calls before, and only on file systems that leave a page where it is: one that copies what
//! it writes may need another place for it each time.

use std::fs::File;

use memmap2::MmapMut;

/// How XFS names itself.
#[cfg(target_os = "linux")]
const XFS: u64 = 0x5846_5342;

/// Whether a map of this file may be written to.
pub(super) fn is_safe(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// How ext2 to ext4, XFS and tmpfs name themselves.
        const IN_PLACE: [u64; 3] = [0xEF53, XFS, 0x0102_1994];
        rustix::fs::fstatfs(file)
            .is_ok_and(|system| u64::try_from(system.f_type).is_ok_and(|kind| IN_PLACE.contains(&kind)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

/// The length of a file whose pages all have their places on the disk, and for itself; zero if some may not.
pub(super) fn whole(file: &File) -> std::io::Result<u64> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let data = file.metadata()?;
        let is_whole = data.blocks().saturating_mul(512) >= data.len() && is_its_own(file, data.len());
        Ok(if is_whole { data.len() } else { 0 })
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(0)
    }
}

/// Whether no page's place is shared with a copy of the file, as `cp` makes it on XFS: what is written there needs another.
#[cfg(unix)]
fn is_its_own(file: &File, length: u64) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::FallocateFlags;
        let is_xfs = rustix::fs::fstatfs(file).is_ok_and(|system| u64::try_from(system.f_type) == Ok(XFS));
        let unshare = || rustix::fs::fallocate(file, FallocateFlags::UNSHARE_RANGE, 0, length);
        !is_xfs || length == 0 || unshare().is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, length);
        true
    }
}

/// The whole file as memory; `None` if the system has no room for it.
#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
pub(super) fn map(file: &File) -> Option<MmapMut> {
    // SAFETY: the file is a log, which only the process that has the right to write changes: this one. It is not made
    // shorter while there is a map of it (`cut`). That other programs do not change it is asked of the user in the README.
    unsafe { MmapMut::map_mut(file) }.ok()
}
