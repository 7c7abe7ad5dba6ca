package catalog

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Catalog keeps entries in a directory. Several goroutines may use it, and several
// programs may use the directory: of two that put the same entry the last one wins. A nil
// Catalog keeps nothing.
type Catalog struct {
	// Dir is created by the first Put: policy.Host.CacheDir + "/catalog". "" keeps the
	// files in memory, for the life of the Catalog. A Put that finds maxFiles of them
	// there drops them all.
	Dir string
	Now func() time.Time // nil is time.Now

	mu     sync.Mutex
	memory map[string][]byte // files by name
}

func (c *Catalog) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// Get returns the answers of a server that are still fresh. ok is false if there are none.
// A file that cannot be trusted or read counts as missing.
func (c *Catalog) Get(server, key string) (e *Entry, ok bool) {
	if c == nil || !isKey(key) {
		return nil, false
	}
	text, err := c.load(fileName(server, key))
	if err != nil {
		return nil, false
	}
	if e, err = decode(encodeName(server), key, text); err != nil {
		return nil, false
	}
	now := c.now() // after reading: another program may just have written the file
	for name, a := range e.Answers {
		if !a.Fresh(now) {
			delete(e.Answers, name)
		}
	}
	return e, len(e.Answers) > 0
}

// Put replaces the entry of a server and a key. It removes files that were not used for
// MaxAge and the least recently used of too many. After an error the old entry is still
// there.
func (c *Catalog) Put(server, key string, e *Entry) error {
	if c == nil {
		return nil
	}
	if !isKey(key) {
		return fmt.Errorf("the catalog of server %q: %q is not a key", server, key)
	}
	text, err := encode(encodeName(server), key, e)
	if err == nil {
		err = c.store(fileName(server, key), text)
	}
	if err != nil {
		return fmt.Errorf("the catalog of server %q was not written: %w", server, err)
	}
	return nil
}

func (c *Catalog) load(name string) ([]byte, error) {
	if c.Dir == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.memory[name], nil // a missing file does not decode
	}
	d, err := private.Open(filepath.Dir(c.Dir), filepath.Base(c.Dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return read(d, name, c.now())
}

func (c *Catalog) store(name string, text []byte) error {
	if c.Dir == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.memory == nil || len(c.memory) >= maxFiles {
			c.memory = map[string][]byte{}
		}
		c.memory[name] = text
		return nil
	}
	d, err := private.Make(filepath.Dir(c.Dir), filepath.Base(c.Dir))
	if err != nil {
		return err
	}
	defer d.Close()
	now := c.now()
	if err := write(d, name, text, now); err != nil {
		return err
	}
	prune(d, name, now)
	return nil
}
