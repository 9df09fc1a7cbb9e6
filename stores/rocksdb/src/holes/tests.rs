//! Logs made by hand, byte by byte.

use std::fs;

use super::{BLOCK, FIRST, HEADER, LAST, MARK, MARKED, WHOLE, checksum, cut};

fn part(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&checksum(kind, bytes).to_le_bytes(), length.to_le_bytes().as_slice(), &[kind], bytes].concat()
}

/// What a record of so many writes says, from this number on.
fn writes(first: u64, count: u32, rest: &[u8]) -> Vec<u8> {
    [&first.to_le_bytes(), count.to_le_bytes().as_slice(), rest].concat()
}

fn record(first: u64, count: u32) -> Vec<u8> {
    part(WHOLE, &writes(first, count, b"some writes"))
}

fn marked(first: u64) -> Vec<u8> {
    part(WHOLE, &writes(first, 1, &[&MARKED, MARK].concat()))
}

/// What is left of logs, by their numbers, when they have been cut.
fn left(logs: &[(u64, Vec<u8>)]) -> Vec<(u64, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: u64| folder.path().join(format!("{number:06}.log"));
    for (number, bytes) in logs {
        fs::write(name(*number), bytes).unwrap();
    }
    cut(folder.path()).unwrap();
    let left = logs.iter().map(|(number, _)| *number).filter(|number| name(*number).exists());
    left.map(|number| (number, fs::read(name(number)).unwrap().len())).collect()
}

fn whole(logs: &[(u64, Vec<u8>)]) -> Vec<(u64, usize)> {
    logs.iter().map(|(number, bytes)| (*number, bytes.len())).collect()
}

#[test]
fn logs_without_a_hole_stay() {
    let logs = [(7, [record(41, 3), record(44, 1)].concat()), (9, record(45, 6)), (12, record(51, 1))];
    assert_eq!(left(&logs), whole(&logs));
    // Torn at the end, it is RocksDB's to cut.
    let mut torn = logs.clone();
    torn[2].1.truncate(HEADER + 4);
    assert_eq!(left(&torn), whole(&torn));
}

#[test]
fn a_hole_within_a_log_ends_it_and_all_behind_it() {
    let mut bytes = record(41, 3);
    // 44 was not on the disk yet, and is zeros up to the next block.
    bytes.resize(BLOCK, 0);
    bytes.extend(record(45, 1));
    assert_eq!(left(&[(7, bytes), (9, record(46, 1))]), [(7, BLOCK)]);
}

#[test]
fn a_hole_between_two_logs_empties_the_second_and_removes_those_behind_it() {
    let first = [record(41, 3), record(44, 1)].concat();
    let length = first.len();
    // 45 was the last of the first log.
    let logs = [(7, first), (9, record(46, 2)), (12, record(48, 1)), (13, record(49, 1))];
    assert_eq!(left(&logs), [(7, length), (9, 0)]);
}

#[test]
fn numbers_may_be_left_out_before_a_mark() {
    let logs = [(7, record(41, 3)), (9, [marked(60), record(61, 1)].concat()), (12, record(62, 1))];
    assert_eq!(left(&logs), whole(&logs));
    let logs = [(7, record(41, 3)), (9, [marked(60), record(62, 1)].concat())];
    assert_eq!(left(&logs), [(7, logs[0].1.len()), (9, marked(60).len())]);
}

#[test]
fn a_record_may_be_in_two_blocks() {
    let bytes = writes(41, 3, &vec![7; BLOCK]);
    let (head, tail) = bytes.split_at(BLOCK - HEADER);
    let log = [part(FIRST, head), part(LAST, tail)].concat();
    let logs = [(7, [log.clone(), record(44, 1)].concat())];
    assert_eq!(left(&logs), whole(&logs));
    assert_eq!(left(&[(7, [log.clone(), record(45, 1)].concat())]), [(7, log.len())]);
}
