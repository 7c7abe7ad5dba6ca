package wrapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// namedFiles is the file of the state directory with the files that the user named, and where no client looks on this
// host: status and unwrap would not find them again.
const namedFiles, maxNamed = "files.json", 1 << 20

// Remembered returns the files that the user named. dir is the state directory.
func Remembered(dir string) (files []clients.Named) {
	text, err := private.ReadFile(dir, namedFiles, maxNamed)
	if err != nil || json.Unmarshal(text, &files) != nil {
		return nil
	}
	return files
}

// Remember remembers the files of changes for which the user named a file, and perhaps a client. dir is the state directory.
func Remember(dir string, host clients.Host, sel Selection, changes []*Change) error {
	var named []clients.Named
	for _, ch := range changes {
		n := clients.Named{File: ch.File.Path}
		if len(sel.Clients) > 0 {
			n.Client = sel.Clients[0]
		}
		known := false
		clients.EachReader(n.File, host, func(clients.Client, clients.Place) { known = true })
		if !known && slices.Contains(sel.Files, n.File) {
			named = append(named, n)
		}
	}
	if err := remember(dir, named); err != nil {
		return fmt.Errorf("the files that you named could not be remembered, so name them to mcp-jail unwrap, too: %w", err)
	}
	return nil
}

func remember(dir string, named []clients.Named) error {
	if len(named) == 0 {
		return nil
	}
	d, err := private.Make(dir, ".")
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Hold(10 * time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	files := Remembered(dir)
	for _, n := range named {
		if !slices.Contains(files, n) {
			files = append(files, n)
		}
	}
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return d.Replace(namedFiles, text, private.How{Sync: true})
}

// placeOf returns which client reads a file that the user named, and where it has its servers. client is "" if no
// client was named.
func placeOf(path, client string, host clients.Host) (c clients.Client, place clients.Place, ok bool) {
	if client == "" {
		return clients.ByFile(path, host)
	}
	c, err := clients.ByName(client)
	if err == nil {
		place, ok = placeFor(c, path, host)
	}
	return c, place, ok
}

// eachNamed calls a function for each file that the user named, and that exists.
func eachNamed(host clients.Host, all []clients.Client, each func(reading, string)) {
	for _, n := range host.Named {
		if _, err := filepath.EvalSymlinks(n.File); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c, place, ok := placeOf(n.File, n.Client, host)
		if ok && slices.ContainsFunc(all, func(o clients.Client) bool { return o.Name == c.Name }) {
			each(reading{client: c, place: place}, n.File)
		}
	}
}
