// Badger and Pebble beside the systems of the program in Rust, which starts this one for each and asks it work by work: a line
// of JSON in, a line of JSON out. What is asked stands in files, which are read before the clock starts, and their garbage is
// collected before it too.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

type question struct {
	Do      string   `json:"do"`
	System  string   `json:"system"`
	File    string   `json:"file"`
	Folder  string   `json:"folder"`
	Ids     []uint32 `json:"ids"`
	Clients int      `json:"clients"`
	Sync    bool     `json:"sync"`
}

type answer struct {
	Ns    int64  `json:"ns"`
	Rows  uint64 `json:"rows"`
	Sum   uint64 `json:"sum"`
	Error string `json:"error,omitempty"`
}

// A store of sorted bytes.
type store interface {
	// Loads rows that come sorted.
	load(each func(put func(key, value []byte) error) error) error
	// What one question is answered from.
	view() view
	// From now on, commits are synced or not.
	synced(sync bool) error
	// Writes rows as one, a record first, which must not be there yet: Keyloom and SQLite look, so all do.
	commit(rows []row) error
	close() error
}

// What has gone wrong if a key could not be seen to be absent.
func notAbsent(err error) error {
	if err != nil {
		return err
	}
	return errors.New("the record is there already")
}

type view interface {
	get(key []byte, look func(value []byte) error) error
	// The first rows of a span, or backward its last.
	scan(start, end []byte, backward bool, limit int, look func(key, value []byte) error) error
	done()
}

// Rows without end.
const all = 1 << 62

// A store with what its bytes are made by.
type system struct {
	store  store
	layout layout
}

func main() {
	systems := map[string]system{}
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked question
		err := json.Unmarshal(in.Bytes(), &asked)
		var answered answer
		if err == nil {
			answered, err = run(systems, &asked)
		}
		if err != nil {
			answered.Error = err.Error()
		}
		if out.Encode(answered) != nil {
			return
		}
	}
}

func run(systems map[string]system, asked *question) (answer, error) {
	if asked.Do == "load" {
		return load(systems, asked)
	}
	system, ok := systems[asked.System]
	if !ok {
		return answer{}, fmt.Errorf("%s is not loaded", asked.System)
	}
	switch asked.Do {
	case "close":
		delete(systems, asked.System)
		return answer{}, system.store.close()
	case "write":
		return system.write(asked)
	case "fingerprint":
		return system.fingerprint()
	default:
		return system.read(asked)
	}
}

func load(systems map[string]system, asked *question) (answer, error) {
	orders, err := readOrders(asked.File)
	if err != nil {
		return answer{}, err
	}
	layout := layoutOf(asked.Ids)
	runtime.GC()
	start := time.Now()
	var opened store
	switch asked.System {
	case "pebble":
		opened, err = openPebble(asked.Folder)
	case "badger":
		opened, err = openBadger(asked.Folder)
	default:
		err = fmt.Errorf("there is no system %s", asked.System)
	}
	if err == nil {
		err = opened.load(func(put func(key, value []byte) error) error { return layout.eachSorted(orders, put) })
	}
	systems[asked.System] = system{opened, layout}
	return answer{Ns: time.Since(start).Nanoseconds()}, err
}

func (s system) write(asked *question) (answer, error) {
	orders, err := readOrders(asked.File)
	if err != nil {
		return answer{}, err
	}
	if err := s.store.synced(asked.Sync); err != nil {
		return answer{}, err
	}
	runtime.GC()
	start := time.Now()
	share := (len(orders) + asked.Clients - 1) / asked.Clients
	failed := make(chan error, asked.Clients)
	var clients sync.WaitGroup
	for len(orders) > 0 {
		mine := orders[:min(share, len(orders))]
		orders = orders[len(mine):]
		clients.Go(func() {
			for i := range mine {
				if err := s.store.commit([]row{s.layout.record(&mine[i]), s.layout.entry(&mine[i])}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	clients.Wait()
	took := time.Since(start).Nanoseconds()
	select {
	case err := <-failed:
		return answer{}, err
	default:
		return answer{Ns: took}, nil
	}
}

func (s system) read(asked *question) (answer, error) {
	var orders []order
	var asks []ask
	var err error
	switch asked.Do {
	case "get":
		orders, err = readOrders(asked.File)
	case "scan":
	default:
		asks, err = readAsks(asked.File)
	}
	if err != nil {
		return answer{}, err
	}
	var found tally
	look := func(value []byte) error { return s.layout.look(value, &found) }
	lookAt := func(_, value []byte) error { return look(value) }
	runtime.GC()
	start := time.Now()
	switch asked.Do {
	case "get":
		for i := range orders {
			view := s.store.view()
			err = view.get(s.layout.key(&orders[i]), look)
			view.done()
			if err != nil {
				break
			}
		}
	case "scan":
		first := s.layout.records()
		view := s.store.view()
		err = view.scan(first, prefixEnd(first), false, all, lookAt)
		view.done()
	default:
		for i := range asks {
			view := s.store.view()
			err = s.ask(asked.Do, view, &asks[i], look, lookAt)
			view.done()
			if err != nil {
				break
			}
		}
	}
	return answer{Ns: time.Since(start).Nanoseconds(), Rows: found.rows, Sum: found.sum}, err
}

func (s system) ask(
	what string, view view, one *ask, look func([]byte) error, lookAt func(key, value []byte) error,
) error {
	user := s.layout.user(one)
	switch what {
	case "prefix":
		return view.scan(user, prefixEnd(user), false, all, lookAt)
	case "range":
		return view.scan(s.layout.dated(one), prefixEnd(user), false, 20, lookAt)
	case "range_back":
		return view.scan(user, prefixEnd(s.layout.dated(one)), true, 20, lookAt)
	case "index":
		start, end := s.layout.entries(one)
		return view.scan(start, end, true, 20, func(_, entry []byte) error {
			return view.get(recordOf(entry), look)
		})
	default:
		return fmt.Errorf("there is no work %s", what)
	}
}

// What all keys and values make together: FNV-1a.
func (s system) fingerprint() (answer, error) {
	sum := uint64(0xCBF29CE484222325)
	view := s.store.view()
	defer view.done()
	end := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	err := view.scan(nil, end, false, all, func(key, value []byte) error {
		for _, part := range [][]byte{key, value} {
			for _, b := range part {
				sum = (sum ^ uint64(b)) * 0x100000001B3
			}
		}
		return nil
	})
	return answer{Sum: sum}, err
}
