#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::fs;

use super::*;

/// What the first log has, up to where it is written.
fn first(logs: &Logs) -> Vec<u8> {
    let [log, _] = &logs.logs;
    let mut bytes = fs::read(&log.path).unwrap();
    bytes.truncate(usize::try_from(log.end).unwrap());
    bytes
}

fn append(logs: &mut Logs, bytes: &[u8]) {
    let record = Unwritten { log: 0, bytes: bytes.to_vec(), writes: 1 };
    logs.append(&[&record], false).unwrap();
}

/// Records of all sizes: those that are written to memory, those that are not, and those that make the log grow.
fn sizes() -> impl Iterator<Item = usize> {
    [0, 1, 23, 480, 4_095, 4_096, 4_097, SMALL - 1, SMALL, SMALL + 1, 900_000, 3, 2_000_000, 17]
        .into_iter()
        .cycle()
        .take(60)
}

#[test]
fn a_log_is_the_same_in_memory_and_by_calls() {
    for written in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut logs = Logs::open(&folder.path().join("test.klm"), written).unwrap();
        for round in 0..3_u8 {
            let mut expected = Vec::new();
            for (number, size) in (0_u8..).zip(sizes()) {
                let record = vec![number ^ round ^ 0x5A; size];
                append(&mut logs, &record);
                expected.extend_from_slice(&record);
                assert!(first(&logs) == expected, "round {round}, {size} bytes, mapped {written}");
            }
            logs.clear(0);
        }
        let [log, _] = &logs.logs;
        let mapped = log.map.as_ref().map(|map| u64::try_from(map.len()).unwrap());
        assert_eq!(mapped, (written && log.is_mapped).then_some(log.length));
    }
}

#[test]
fn a_log_goes_on_where_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = Logs::open(&folder.path().join("test.klm"), true).unwrap();
    let record = |byte: u8| vec![byte; 100];
    append(&mut logs, &record(1));
    append(&mut logs, &record(2));
    logs.log(0).cut(100);
    append(&mut logs, &record(3));
    assert_eq!(first(&logs), [record(1), record(3)].concat());
}

/// A copy of a file may have holes, for which the disk need not have room.
#[cfg(target_os = "linux")]
#[test]
fn a_log_with_holes_is_filled_before_it_is_mapped() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    File::create(path_of(&path, 0)).unwrap().set_len(8 * GROWTH).unwrap();
    let mut logs = Logs::open(&path, true).unwrap();
    append(&mut logs, &[1; 100]);
    let [log, _] = &logs.logs;
    assert!(log.map.is_none() || log.file.metadata().unwrap().blocks() * 512 >= log.length);
}

#[test]
fn what_is_put_back_comes_first() {
    let records = |bytes: &[u8], writes| Unwritten { log: 1, bytes: bytes.to_vec(), writes };
    let mut left = records(b"cd", 2);
    left.put_back(records(b"ab", 3));
    assert_eq!((left.log, left.bytes.as_slice(), left.writes), (1, b"abcd".as_slice(), 5));
}
