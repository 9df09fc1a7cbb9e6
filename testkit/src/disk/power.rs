//! The power fails: of what was not synced any part may be on the disk, in any order, torn anywhere.
//!
//! ```text
//! write write SYNC root │ write write write │ ✗     synced: all of it    not synced: some sectors of some writes
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::fs;
use std::path::Path;

use super::log;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// What the names of the watched files end with: a store, and its logs.
const FILES: [&str; 3] = ["", "redo0", "redo1"];

/// A file, and its logs, as a power failure could leave them.
#[derive(Debug)]
pub struct Image {
    files: [Vec<u8>; 3],
    /// How many commits were promised to last.
    pub promised: usize,
    /// Which image of its moment it is.
    pub seed: u64,
    /// The moment, in words.
    pub at: String,
}

impl Image {
    /// Makes it the file at `path`, with its logs.
    pub fn write(&self, path: &Path) {
        for (end, bytes) in FILES.iter().zip(&self.files) {
            let path = if end.is_empty() { path.to_owned() } else { path.with_added_extension(end) };
            fs::write(path, bytes).unwrap();
        }
    }
}

/// Shows images of every moment of a file whose writes were [recorded](super::run): `seeds` of each at which something
/// was not synced, and one of each other. Returns how many there were.
pub fn images(path: &Path, seeds: u64, mut look: impl FnMut(&Image)) -> usize {
    let events = events(&fs::read(log(path)).unwrap());
    let mut disk: [Watched<'_>; 3] = Default::default();
    let mut promised = None;
    let mut images = 0;
    for (moment, (file, event)) in events.iter().enumerate() {
        let Watched { synced, unsynced } = &mut disk[*file];
        match event {
            Event::Written { offset, bytes } => unsynced.push((*offset, bytes.as_slice())),
            Event::WrittenAndSynced { offset, bytes } => put(synced, *offset, bytes),
            Event::Synced => unsynced.drain(..).for_each(|(offset, bytes)| put(synced, offset, bytes)),
            Event::Resized(length) => synced.resize(*length, 0),
            Event::Promised(commits) => promised = Some(*commits),
        }
        // A file that is being created has nothing to lose.
        let Some(promised) = promised else { continue };
        // Without anything unsynced all images are the same.
        for seed in 0..if disk.iter().all(|file| file.unsynced.is_empty()) { 1 } else { seeds } {
            let mut dice = Dice(u64::try_from(moment).unwrap() << 8 | seed);
            let files =
                [0, 1, 2].map(|file: usize| image(&disk[file].synced, &disk[file].unsynced, &mut dice));
            look(&Image { files, promised, seed, at: format!("at event {moment} with seed {seed}") });
            images += 1;
        }
    }
    images
}

/// What is on the disk of a file, and what may be.
#[derive(Default)]
struct Watched<'a> {
    synced: Vec<u8>,
    unsynced: Vec<(usize, &'a [u8])>,
}

/// What happened to the file.
enum Event {
    Written {
        offset: usize,
        bytes: Vec<u8>,
    },
    WrittenAndSynced {
        offset: usize,
        bytes: Vec<u8>,
    },
    Synced,
    Resized(usize),
    /// This many commits were promised to last.
    Promised(usize),
}

/// What happened, each with the number of its file.
fn events(log: &[u8]) -> Vec<(usize, Event)> {
    let mut events = Vec::new();
    let mut left = log;
    while let Some(([kind, file], rest)) = left.split_first_chunk() {
        let (offset, rest) = rest.split_first_chunk().unwrap();
        let (length, rest) = rest.split_first_chunk().unwrap();
        let offset = usize::try_from(u64::from_ne_bytes(*offset)).unwrap();
        let (bytes, rest) = rest.split_at(usize::try_from(u64::from_ne_bytes(*length)).unwrap());
        left = rest;
        let event = match kind {
            b'W' => Event::Written { offset, bytes: bytes.to_vec() },
            b'D' => Event::WrittenAndSynced { offset, bytes: bytes.to_vec() },
            b'S' => Event::Synced,
            b'T' => Event::Resized(offset),
            b'M' => Event::Promised(str::from_utf8(bytes).unwrap().parse().unwrap()),
            other => panic!("{other}"),
        };
        events.push((usize::from(*file), event));
    }
    events
}

fn put(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    image.resize(image.len().max(offset + bytes.len()), 0);
    image[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// The synced image and some of what was not synced.
fn image(synced: &[u8], unsynced: &[(usize, &[u8])], dice: &mut Dice) -> Vec<u8> {
    let mut image = synced.to_vec();
    let mut writes = unsynced.to_vec();
    // All are there, none, or each with its own chance: whole, or sector by sector.
    let chance = dice.below(5);
    while !writes.is_empty() {
        let (offset, bytes) = writes.swap_remove(dice.below(writes.len()));
        if dice.below(2) == 0 {
            if dice.below(4) < chance {
                put(&mut image, offset, bytes);
            }
            continue;
        }
        for (number, sector) in bytes.chunks(SECTOR).enumerate() {
            if dice.below(4) < chance {
                put(&mut image, offset + number * SECTOR, sector);
            }
        }
    }
    image
}
