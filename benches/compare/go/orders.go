package main

import (
	"encoding/binary"
	"os"
)

type order struct {
	user   []byte
	date   int64
	id     []byte
	amount int64
	status []byte
	note   []byte
}

// Orders of a user or of a status, from a date on or up to one.
type ask struct {
	name []byte
	date int64
}

// A file of questions, which is read from its front. The program that asks wrote it, so it is whole.
type reader []byte

func (r *reader) take(length int) []byte {
	taken := (*r)[:length:length]
	*r = (*r)[length:]
	return taken
}

func (r *reader) text() []byte  { return r.take(int(r.take(1)[0])) }
func (r *reader) number() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func readOrders(file string) ([]order, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var orders []order
	for rest := reader(bytes); len(rest) > 0; {
		orders = append(orders, order{
			user: rest.text(), date: rest.number(), id: rest.take(16), amount: rest.number(),
			status: rest.text(), note: rest.text(),
		})
	}
	return orders, nil
}

func readAsks(file string) ([]ask, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var asks []ask
	for rest := reader(bytes); len(rest) > 0; {
		asks = append(asks, ask{name: rest.text(), date: rest.number()})
	}
	return asks, nil
}

// What was read, in its order: equal only if the rows are.
type tally struct{ rows, sum uint64 }

func (t *tally) add(amount int64, note []byte) {
	var last uint64
	if len(note) > 0 {
		last = uint64(note[len(note)-1])
	}
	t.rows++
	t.sum = t.sum*31 + uint64(amount) + (uint64(len(note)) ^ last<<8)
}
