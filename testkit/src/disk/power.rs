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

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::log;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// What the names of the watched files end with: a store in one file, and its logs.
const FILES: [&str; 3] = ["", ".redo0", ".redo1"];

/// A file and its logs, or a folder, as a power failure could leave them.
#[derive(Debug)]
pub struct Image {
    /// What stands behind the name of the store in that of each file, and its bytes.
    files: Vec<(String, Vec<u8>)>,
    /// How many commits were promised to last.
    pub promised: usize,
    /// Which image of its moment it is.
    pub seed: u64,
    /// The moment, in words.
    pub at: String,
}

impl Image {
    /// Makes it the file at `path`, with its logs, or the folder.
    pub fn write(&self, path: &Path) {
        if self.files.iter().any(|(name, _)| name.starts_with('/')) {
            let _ = fs::remove_dir_all(path);
            fs::create_dir(path).unwrap();
        }
        for (name, bytes) in &self.files {
            fs::write(format!("{}{name}", path.display()), bytes).unwrap();
        }
    }
}

/// Shows images of every moment of a store whose writes were [recorded](super::run): `seeds` of each at which something
/// was not synced, and one of each other. Returns how many there were.
pub fn images(path: &Path, seeds: u64, look: impl FnMut(&Image)) -> usize {
    images_of_some(path, 1, seeds, look)
}

/// The same of every `nth` moment, for a store that writes much, and of those at which something was synced.
pub fn images_of_some(path: &Path, nth: usize, seeds: u64, mut look: impl FnMut(&Image)) -> usize {
    let events = events(&fs::read(log(path)).unwrap());
    let mut disk = Disk::new(path.is_dir());
    let mut promised = None;
    let mut images = 0;
    for (moment, (number, event)) in events.iter().enumerate() {
        match event {
            Event::Promised(commits) => promised = Some(*commits),
            event => disk.happens(*number, event),
        }
        // What is being created has nothing to lose.
        let Some(promised) = promised else { continue };
        if matches!(event, Event::Written { .. }) && moment % nth != 0 {
            continue;
        }
        // Without anything unsynced all images are the same.
        for seed in 0..if disk.is_synced() { 1 } else { seeds } {
            let files = disk.image(&mut Dice(u64::try_from(moment).unwrap() << 8 | seed));
            look(&Image { files, promised, seed, at: format!("at event {moment} with seed {seed}") });
            images += 1;
        }
    }
    images
}

/// What is on the disk, and what may be.
struct Disk<'a> {
    files: Vec<Watched<'a>>,
    /// Which of them has which number: that of its inode is given again when the file is gone.
    numbers: BTreeMap<u64, usize>,
    /// The names of files.
    names: BTreeMap<&'a str, usize>,
    /// What happened to names and is not synced. File systems keep the order of that.
    renamed: Vec<(&'a Name, usize)>,
}

/// A file: what is on its disk, and what may be.
#[derive(Default)]
struct Watched<'a> {
    synced: Vec<u8>,
    unsynced: Vec<(usize, &'a [u8])>,
}

impl<'a> Disk<'a> {
    fn new(is_folder: bool) -> Self {
        let mut disk =
            Self { files: Vec::new(), numbers: BTreeMap::new(), names: BTreeMap::new(), renamed: Vec::new() };
        if !is_folder {
            for (number, name) in (0..).zip(FILES) {
                let file = disk.add(number);
                disk.names.insert(name, file);
            }
        }
        disk
    }

    fn add(&mut self, number: u64) -> usize {
        self.files.push(Watched::default());
        self.numbers.insert(number, self.files.len() - 1);
        self.files.len() - 1
    }

    fn happens(&mut self, number: u64, event: &'a Event) {
        if let Event::Named(name) = event {
            let file = if matches!(name, Name::Made(_)) { self.add(number) } else { 0 };
            return self.renamed.push((name, file));
        }
        if matches!(event, Event::NamesSynced) {
            let renamed = std::mem::take(&mut self.renamed);
            return renamed.into_iter().for_each(|(name, file)| name.happens(file, &mut self.names));
        }
        let Watched { synced, unsynced } = &mut self.files[self.numbers[&number]];
        match event {
            Event::Written { offset, bytes } => unsynced.push((*offset, bytes.as_slice())),
            Event::WrittenAndSynced { offset, bytes } => put(synced, *offset, bytes),
            Event::Synced => unsynced.drain(..).for_each(|(offset, bytes)| put(synced, offset, bytes)),
            Event::Resized(length) => synced.resize(*length, 0),
            Event::Named(_) | Event::NamesSynced | Event::Promised(_) => {}
        }
    }

    fn is_synced(&self) -> bool {
        self.renamed.is_empty() && self.names.values().all(|file| self.files[*file].unsynced.is_empty())
    }

    /// All that is synced, and some of what is not.
    fn image(&self, dice: &mut Dice) -> Vec<(String, Vec<u8>)> {
        let mut names = self.names.clone();
        if !self.renamed.is_empty() {
            let some = dice.below(self.renamed.len() + 1);
            self.renamed[..some].iter().for_each(|(name, file)| name.happens(*file, &mut names));
        }
        let files = names.into_iter().map(|(name, file)| {
            let Watched { synced, unsynced } = &self.files[file];
            (name.to_owned(), image(synced, unsynced, dice))
        });
        files.collect()
    }
}

/// What happened to a name, in a folder.
enum Name {
    Made(String),
    Renamed(String, String),
    Linked(String, String),
    Unlinked(String),
}

impl Name {
    fn happens<'a>(&'a self, file: usize, names: &mut BTreeMap<&'a str, usize>) {
        match self {
            Self::Made(name) => drop(names.insert(name, file)),
            Self::Renamed(from, to) => {
                let file = names.remove(from.as_str()).unwrap();
                names.insert(to, file);
            }
            Self::Linked(from, to) => drop(names.insert(to, names[from.as_str()])),
            Self::Unlinked(name) => drop(names.remove(name.as_str())),
        }
    }
}

/// What happened to a file.
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
    /// To its name.
    Named(Name),
    /// All that happened to names is synced.
    NamesSynced,
    /// This many commits were promised to last.
    Promised(usize),
}

/// What happened, each with the number of its file.
fn events(log: &[u8]) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    let mut left = log;
    while let Some((kind, rest)) = left.split_first() {
        let (number, rest) = rest.split_first_chunk().unwrap();
        let (offset, rest) = rest.split_first_chunk().unwrap();
        let (length, rest) = rest.split_first_chunk().unwrap();
        let offset = usize::try_from(u64::from_ne_bytes(*offset)).unwrap();
        let (bytes, rest) = rest.split_at(usize::try_from(u64::from_ne_bytes(*length)).unwrap());
        left = rest;
        let text = || str::from_utf8(bytes).unwrap().to_owned();
        let two = |name: fn(String, String) -> Name| {
            let (from, to) = str::from_utf8(bytes).unwrap().split_once('\0').unwrap();
            name(from.to_owned(), to.to_owned())
        };
        let event = match kind {
            b'W' => Event::Written { offset, bytes: bytes.to_vec() },
            b'D' => Event::WrittenAndSynced { offset, bytes: bytes.to_vec() },
            b'S' => Event::Synced,
            b'T' => Event::Resized(offset),
            b'C' => Event::Named(Name::Made(text())),
            b'R' => Event::Named(two(Name::Renamed)),
            b'L' => Event::Named(two(Name::Linked)),
            b'U' => Event::Named(Name::Unlinked(text())),
            b'F' => Event::NamesSynced,
            b'M' => Event::Promised(text().parse().unwrap()),
            other => panic!("{other}"),
        };
        events.push((u64::from_ne_bytes(*number), event));
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
