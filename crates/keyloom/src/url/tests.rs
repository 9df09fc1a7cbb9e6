//! Texts that say where a database is and how it is opened.

use keyloom_store::Wait;

use super::Url;
use crate::{Cache, Location, Preset, Settings};

fn read(text: &str) -> Result<Url, String> {
    text.parse::<Url>().map_err(|error| error.to_string())
}

#[test]
fn a_location_may_have_settings() {
    let url = read("file:shop.klm?preset=high-read&cache=256MB").unwrap();
    assert_eq!(url.location, Location::File("shop.klm".into()));
    assert_eq!(
        (url.settings.preset, url.settings.cache),
        (Some(Preset::HighRead), Some(Cache::Bytes(256_000_000)))
    );
    assert_eq!(url.to_string(), "shop.klm?preset=high-read&cache=256000000");
    assert_eq!(read(&url.to_string()), Ok(url));
    assert_eq!(read("memory:"), Ok(Location::Memory.into()));
}

#[test]
fn a_question_mark_in_a_name_is_kept_and_settings_are_never_taken_for_a_name() {
    for name in ["what?.klm", "what?", "a?b&c"] {
        assert_eq!(read(name), Ok(Location::File(name.into()).into()));
    }
    let url = read("what?.klm?cache=on").unwrap();
    assert_eq!(url.location, Location::File("what?.klm".into()));
    assert!(
        read("a?b=c.klm").is_err_and(|error| error.starts_with("there is no setting b; the settings are: "))
    );
    let location = "shop.klm?cache=on".parse::<Location>().map_err(|error| error.to_string());
    assert_eq!(
        location,
        Err("there is no place for the settings cache=on in a location: open it as a Url".to_owned())
    );
}

#[test]
fn settings_that_a_store_does_not_have_are_refused_by_name() {
    let refused = |text: &str| read(text).unwrap().open().wait().map(drop).map_err(|error| error.to_string());
    assert_eq!(
        refused("memory:?durability=synced"),
        Err("refused: memory: has no setting durability: it is for files".to_owned())
    );
    assert_eq!(refused("memory:?preset=balanced&compression=zstd"), Ok(()));
}

/// What is compressed is read so whoever opens it by its URL, and is not taken for something else by whoever does not.
#[cfg(feature = "lmdb")]
#[test]
fn a_file_remembers_that_it_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.klm").display().to_string();
    let define = "CREATE TABLE notes (id TEXT PRIMARY KEY, note TEXT)";
    {
        let database =
            read(&format!("{path}?compression=lz4&preset=balanced")).unwrap().open().wait().unwrap();
        database.define(define).wait().unwrap();
        let note = crate::Document::new().with("id", "a").with("note", "again and ".repeat(100));
        database.table("notes").wait().unwrap().put(note).wait().unwrap();
    }
    {
        let database = read(&path).unwrap().or(Settings::default()).open().wait().unwrap();
        let notes = database.table("notes").wait().unwrap();
        assert!(notes.get(["a"]).wait().unwrap().is_some());
        let stats = database.store().stats();
        assert!(stats.value_bytes > 3 * stats.stored_bytes, "{stats:?}");
    }
    let bare = path.parse::<Location>().unwrap().open().wait().unwrap_err().to_string();
    assert!(bare.contains("its values are compressed: open it by its URL"), "{bare}");
    let plain = folder.path().join("plain.klm").display().to_string();
    read(&plain).unwrap().open().wait().unwrap().define(define).wait().unwrap();
    let late = read(&format!("{plain}?compression=lz4")).unwrap().open().wait().unwrap_err().to_string();
    assert!(late.contains("begun without compression"), "{late}");
}
