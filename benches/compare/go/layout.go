package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// Keyloom's keys and values by hand: KEY_FORMAT.md and VALUE_FORMAT.md.
type layout struct {
	primary, index       uint32
	amount, status, note uint16
}

type row struct{ key, value []byte }

const (
	isInt  = 0x03
	isText = 0x08
)

func layoutOf(ids []uint32) layout {
	return layout{ids[0], ids[1], uint16(ids[2]), uint16(ids[3]), uint16(ids[4])}
}

func appendText(key, text []byte) []byte {
	for _, b := range text {
		key = append(key, b)
		if b == 0 {
			key = append(key, 0xFF)
		}
	}
	return append(key, 0, 1)
}

func appendDate(key []byte, date int64) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(date)^1<<63)
}

func tree(id uint32) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 0, 64), id)
}

func (l layout) key(o *order) []byte {
	return append(appendDate(appendText(tree(l.primary), o.user), o.date), o.id...)
}

func (l layout) record(o *order) row {
	var amount [8]byte
	binary.BigEndian.PutUint64(amount[:], uint64(o.amount))
	short := amount[:]
	// As few bytes as it takes: those that only repeat the sign are left out.
	for len(short) > 1 && (short[0] == 0 && short[1] < 0x80 || short[0] == 0xFF && short[1] >= 0x80) {
		short = short[1:]
	}
	if o.amount == 0 {
		short = nil
	}
	first := 1 + len(short)
	second := first + 1 + len(o.status)
	third := second + 1 + len(o.note)
	value := make([]byte, 0, 11+third)
	// Version 1, a byte for each length: all values together are shorter than 256 bytes.
	value = append(value, 1, 3)
	for _, field := range []struct {
		id  uint16
		end int
	}{{l.amount, first}, {l.status, second}, {l.note, third}} {
		value = append(binary.BigEndian.AppendUint16(value, field.id), byte(field.end))
	}
	value = append(append(value, isInt), short...)
	value = append(append(value, isText), o.status...)
	value = append(append(value, isText), o.note...)
	return row{l.key(o), value}
}

func (l layout) entry(o *order) row {
	entry := appendDate(appendText(tree(l.index), o.status), o.date)
	entry = append(appendText(entry, o.user), o.id...)
	key := l.key(o)
	leadsTo := append(binary.BigEndian.AppendUint16([]byte{0}, uint16(len(key))), key...)
	return row{entry, append(leadsTo, 1, 0)}
}

// The key of the record that an entry leads to.
func recordOf(entry []byte) []byte {
	return entry[3 : 3+binary.BigEndian.Uint16(entry[1:])]
}

// Reads the amount and the note of a record.
func (l layout) look(value []byte, found *tally) error {
	if len(value) < 2 || value[0] != 1 {
		return errors.New("a record of another shape")
	}
	count := int(value[1])
	data := value[2+3*count:]
	var amount int64
	var note []byte
	start := 0
	for field := range count {
		at := value[2+3*field:]
		end := int(at[2])
		switch part := data[start:end]; binary.BigEndian.Uint16(at) {
		case l.amount:
			for i, b := range part[1:] {
				if i == 0 {
					amount = int64(int8(b))
				} else {
					amount = amount<<8 | int64(b)
				}
			}
		case l.note:
			note = part[1:]
		}
		start = end
	}
	found.add(amount, note)
	return nil
}

func (l layout) records() []byte { return tree(l.primary) }

func (l layout) user(a *ask) []byte { return appendText(tree(l.primary), a.name) }

func (l layout) dated(a *ask) []byte { return appendDate(l.user(a), a.date) }

// The keys of the entries of a status up to the date: first and end.
func (l layout) entries(a *ask) (start, end []byte) {
	start = appendText(tree(l.index), a.name)
	return start, prefixEnd(appendDate(bytes.Clone(start), a.date))
}

// The first key behind all that begin with this.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xFF {
		end = end[:len(end)-1]
	}
	end[len(end)-1]++
	return end
}

// The records of all orders and then their entries, sorted, which is how they are loaded fastest.
func (l layout) eachSorted(orders []order, put func(key, value []byte) error) error {
	sorted := make([]*order, len(orders))
	for i := range orders {
		sorted[i] = &orders[i]
	}
	slices.SortFunc(sorted, func(a, b *order) int {
		return cmp.Or(bytes.Compare(a.user, b.user), cmp.Compare(a.date, b.date), bytes.Compare(a.id, b.id))
	})
	for _, o := range sorted {
		row := l.record(o)
		if err := put(row.key, row.value); err != nil {
			return err
		}
	}
	slices.SortFunc(sorted, func(a, b *order) int {
		first := cmp.Or(bytes.Compare(a.status, b.status), cmp.Compare(a.date, b.date))
		return cmp.Or(first, bytes.Compare(a.user, b.user), bytes.Compare(a.id, b.id))
	})
	for _, o := range sorted {
		row := l.entry(o)
		if err := put(row.key, row.value); err != nil {
			return err
		}
	}
	return nil
}
