use keyloom_store::Batch;

use super::Sorted;
use crate::config::Options;
use crate::engine::Engine;
use crate::pieces::Striped;

/// A table may be made while a batch is sorted: its files would go where the keys of the table do not lie any more.
#[test]
fn files_do_not_fit_when_keys_have_got_families_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Engine::open(&folder.path().join("test"), Options { ingest: 1, ..Options::default() }).unwrap();
    let sorted = |prefix: &str| Sorted::write(&engine, &mut Batch::new().put(prefix, "")).unwrap().unwrap();
    let (before, other) = (sorted("t"), sorted("u"));
    assert!(before.fits(&engine) && other.fits(&engine));
    engine.stripe(b"t", Striped::new(16, 4)).unwrap();
    // Any families count: which keys a file has is not looked at again.
    assert!(!before.fits(&engine) && !other.fits(&engine));
    assert!(sorted("t").fits(&engine));
}
