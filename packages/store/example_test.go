package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/store"
)

func Example() {
	dir, err := os.MkdirTemp("", "lockfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name, key := filepath.Join(dir, store.FileName), store.Key{Ecosystem: store.NPM, Spec: "server-files@latest"}

	install := func(version string) error {
		return store.Update(name, func(f *store.File) error {
			e := &store.Entry{Key: key, Name: "server-files", Version: version, Pinned: time.Now()}
			if old := f.Find(key); old != nil {
				for _, change := range store.Diff(old, e) {
					fmt.Println(change)
				}
			}
			return f.Set(e)
		})
	}
	if err := install("1.0.0"); err != nil {
		fmt.Println(err)
	}
	if err := install("1.1.0"); err != nil {
		fmt.Println(err)
	}
	e, err := store.Find(name, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Version)
	// Output:
	// server-files: 1.0.0 → 1.1.0
	// 1.1.0
}
