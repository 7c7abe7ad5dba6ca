package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// notebook is a directory of notes. It is opened by each operation and never at the start, so that the server can list
// its tools even where it may not read the notes.
type notebook struct{ dir string }

// A search stops after this many lines: more would only fill the model's window.
const maxHits = 50

// path turns the name of a note into the path of its file. The suffix may be left out.
func (n notebook) path(name string) (string, error) {
	if !strings.HasSuffix(name, ".md") {
		name += ".md"
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("%q is not the name of a note: it leaves the directory of notes", name)
	}
	return filepath.Join(n.dir, filepath.FromSlash(name)), nil
}

func (n notebook) read(name string) (string, error) {
	path, err := n.path(name)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// write makes or replaces a note and answers whether it is new.
func (n notebook) write(name, text string) (created bool, err error) {
	path, err := n.path(name)
	if err != nil {
		return false, err
	}
	// Only a missing directory is made: MkdirAll on one that stands would fail for the wrong reason under a policy
	// that lets notes be updated but not created.
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
	}
	_, err = os.Lstat(path)
	created = err != nil
	return created, os.WriteFile(path, []byte(text), 0o644)
}

// search finds the lines that hold query, whatever their case, as "name:line: text". A note that cannot be read is
// named among them rather than passed over: "not found" and "not allowed to look" are different answers.
func (n notebook) search(query string) ([]string, error) {
	var hits []string
	query = strings.ToLower(query)
	err := filepath.WalkDir(n.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == n.dir:
			return err
		case err != nil:
			hits = append(hits, "could not look: "+err.Error())
			return nil
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		hits = append(hits, n.grep(path, query)...)
		if len(hits) >= maxHits {
			hits = append(hits[:maxHits], fmt.Sprintf("(the first %d lines; ask for something narrower)", maxHits))
			return filepath.SkipAll
		}
		return nil
	})
	return hits, err
}

// grep answers the lines of one note that hold query, which is in lower case.
func (n notebook) grep(path, query string) (hits []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return []string{"could not look: " + err.Error()}
	}
	name, err := filepath.Rel(n.dir, path)
	if err != nil {
		name = path
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for number := 1; lines.Scan(); number++ {
		if strings.Contains(strings.ToLower(lines.Text()), query) {
			hits = append(hits, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(name), number, strings.TrimSpace(lines.Text())))
		}
	}
	return hits
}
