//! RocksDB by hand: one tree, with the filters, the cache and the compressions that its manual advises.

use std::path::Path;

use keyloom_workload::{Error, Layout, Order};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, Options, ReadOptions, SstFileWriter, WriteBatch,
    WriteOptions,
};

use super::by_hand::{ByHand, Bytes, there};
use super::peer::Promise;

/// A folder of RocksDB.
pub(crate) struct Rocks {
    data: DB,
    sync: bool,
}

fn options() -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_cache(&Cache::new_lru_cache(1 << 30));
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_format_version(6);
    table.set_block_size(16 << 10);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_bytes_per_sync(1 << 20);
    options.set_max_background_jobs(2);
    options
}

/// The tree that there always is: several keys are looked for together in one by its name.
const TREE: &str = "default";

/// Sorted into one file, which is taken in.
pub(crate) fn load(folder: &Path, orders: &[Order], layout: Layout) -> Result<ByHand<Rocks>, Error> {
    let options = options();
    let data = DB::open_cf_with_opts(&options, folder.join("raw-rocksdb"), [(TREE, options.clone())])?;
    let file = folder.join("raw-rocksdb.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file)?;
    layout.each_sorted(orders, |key, value| writer.put(key, value))?;
    writer.finish()?;
    let mut ingest = rocksdb::IngestExternalFileOptions::default();
    ingest.set_move_files(true);
    data.ingest_external_file_opts(&ingest, vec![file])?;
    Ok(ByHand { bytes: Rocks { data, sync: true }, layout })
}

impl Bytes for Rocks {
    /// An index's entries and its records are not of one state then, which saves it a snapshot.
    type View<'a> = &'a DB;

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok(&self.data)
    }

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        view.get_pinned(key)?.map_or(Ok(()), |value| look(&value))
    }

    fn get_many(
        view: &Self::View<'_>,
        keys: &[Vec<u8>],
        mut look: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tree = view.cf_handle(TREE).ok_or("RocksDB has no tree")?;
        for value in view.batched_multi_get_cf(&tree, keys, false) {
            value?.map_or(Ok(()), |value| look(&value))?;
        }
        Ok(())
    }

    fn gets_many(&self) -> bool {
        true
    }

    fn scan(
        view: &Self::View<'_>,
        (start, end): (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(start);
        options.set_iterate_upper_bound(end);
        let mut rows = view.raw_iterator_opt(options);
        if backward {
            rows.seek_to_last()
        } else {
            rows.seek_to_first()
        }
        for _ in 0..limit {
            let Some((key, value)) = rows.item() else { break };
            look(key, value)?;
            if backward { rows.prev() } else { rows.next() }
        }
        Ok(rows.status()?)
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        let [(record, _), _] = &rows;
        if self.data.get_pinned(record)?.is_some() {
            return Err(there());
        }
        let mut batch = WriteBatch::default();
        for (key, value) in &rows {
            batch.put(key, value);
        }
        let mut options = WriteOptions::default();
        options.set_sync(self.sync);
        Ok(self.data.write_opt(batch, &options)?)
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        self.sync = promise == Promise::Synced;
        Ok((promise != Promise::Less).then_some("raw-rocksdb"))
    }
}
