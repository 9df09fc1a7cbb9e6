package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

type pebbleStore struct {
	db      *pebble.DB
	options *pebble.Options
	folder  string
	write   *pebble.WriteOptions
}

// Silence: what Pebble tells is not for the stream that answers.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(format)
}

// With filters, a cache that holds the orders and as much memory for writes as the others have, as its users set them; its
// own defaults are 8 and 4 MB. It does not ask the filters of its last level for a single key, and all is there after a load.
func openPebble(folder string) (store, error) {
	options := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, CacheSize: 1 << 30, MemTableSize: 64 << 20, Logger: silent{},
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	options.EnsureDefaults()
	db, err := pebble.Open(folder, options)
	return &pebbleStore{db, options, folder, pebble.Sync}, err
}

// Into one file, which is taken in.
func (p *pebbleStore) load(each func(put func(key, value []byte) error) error) error {
	path := filepath.Join(p.folder, "loaded.sst")
	file, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	format := p.db.TableFormat()
	writer := sstable.NewWriter(objstorageprovider.NewFileWritable(file), p.options.MakeWriterOptions(6, format))
	if err := errors.Join(each(writer.Set), writer.Close()); err != nil {
		return err
	}
	return p.db.Ingest(context.Background(), []string{path})
}

func (p *pebbleStore) view() view { return pebbleView{p.db} }

func (p *pebbleStore) synced(sync bool) error {
	p.write = pebble.NoSync
	if sync {
		p.write = pebble.Sync
	}
	return nil
}

func (p *pebbleStore) commit(rows []row) error {
	_, closer, err := p.db.Get(rows[0].key)
	if err != pebble.ErrNotFound {
		if err == nil {
			err = closer.Close()
		}
		return notAbsent(err)
	}
	batch := p.db.NewBatch()
	defer batch.Close()
	for _, row := range rows {
		if err := batch.Set(row.key, row.value, nil); err != nil {
			return err
		}
	}
	return batch.Commit(p.write)
}

func (p *pebbleStore) close() error { return p.db.Close() }

type pebbleView struct{ db *pebble.DB }

func (v pebbleView) get(key []byte, look func([]byte) error) error {
	value, closer, err := v.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	return look(value)
}

func (v pebbleView) scan(
	start, end []byte, backward bool, limit int, look func(key, value []byte) error,
) error {
	rows, err := v.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	defer rows.Close()
	begin, next := rows.First, rows.Next
	if backward {
		begin, next = rows.Last, rows.Prev
	}
	for is := begin(); is && limit > 0; is = next() {
		value, err := rows.ValueAndErr()
		if err == nil {
			err = look(rows.Key(), value)
		}
		if err != nil {
			return err
		}
		limit--
	}
	return rows.Error()
}

func (pebbleView) done() {}
