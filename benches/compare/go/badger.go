package main

import (
	"bytes"
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"
)

type badgerStore struct {
	db      *badger.DB
	options badger.Options
}

// With its own settings, but for a cache that holds the orders.
func openBadger(folder string) (store, error) {
	options := badger.DefaultOptions(folder).WithLogger(nil).WithSyncWrites(true).WithBlockCacheSize(1 << 30)
	db, err := badger.Open(options)
	return &badgerStore{db, options}, err
}

// Through its writer of sorted streams, a few megabytes at a time.
func (b *badgerStore) load(each func(put func(key, value []byte) error) error) error {
	writer := b.db.NewStreamWriter()
	if err := writer.Prepare(); err != nil {
		return err
	}
	buffer := z.NewBuffer(8<<20, "load")
	defer buffer.Release()
	err := each(func(key, value []byte) error {
		badger.KVToBuffer(&pb.KV{Key: key, Value: value, Version: 1, StreamId: 1}, buffer)
		if buffer.LenNoPadding() < 4<<20 {
			return nil
		}
		defer buffer.Reset()
		return writer.Write(buffer)
	})
	if err == nil {
		err = writer.Write(buffer)
	}
	return errors.Join(err, writer.Flush())
}

func (b *badgerStore) view() view { return badgerView{b.db.NewTransaction(false)} }

// It is a setting of the whole store, which is opened again for it.
func (b *badgerStore) synced(sync bool) error {
	if b.options.SyncWrites == sync {
		return nil
	}
	if err := b.db.Close(); err != nil {
		return err
	}
	b.options = b.options.WithSyncWrites(sync)
	db, err := badger.Open(b.options)
	b.db = db
	return err
}

func (b *badgerStore) commit(rows []row) error {
	return b.db.Update(func(txn *badger.Txn) error {
		if _, err := txn.Get(rows[0].key); err != badger.ErrKeyNotFound {
			return notAbsent(err)
		}
		for _, row := range rows {
			if err := txn.Set(row.key, row.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *badgerStore) close() error { return b.db.Close() }

type badgerView struct{ txn *badger.Txn }

func (v badgerView) get(key []byte, look func([]byte) error) error {
	item, err := v.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return item.Value(look)
}

func (v badgerView) scan(
	start, end []byte, backward bool, limit int, look func(key, value []byte) error,
) error {
	options := badger.DefaultIteratorOptions
	options.Reverse = backward
	// Values this short lie beside their keys: to fetch them ahead only copies them, also those behind the end.
	options.PrefetchValues = false
	rows := v.txn.NewIterator(options)
	defer rows.Close()
	begin := start
	if backward {
		begin = end
	}
	for rows.Seek(begin); rows.Valid() && limit > 0; rows.Next() {
		item := rows.Item()
		key := item.Key()
		if backward && bytes.Equal(key, end) {
			continue
		}
		if bytes.Compare(key, start) < 0 || bytes.Compare(key, end) >= 0 {
			break
		}
		if err := item.Value(func(value []byte) error { return look(key, value) }); err != nil {
			return err
		}
		limit--
	}
	return nil
}

func (v badgerView) done() { v.txn.Discard() }
