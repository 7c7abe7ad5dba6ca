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

// notebook is a directory of notes. Each operation opens it, and the start does not, so that the server can list its
// tools even if it may not read the notes.
type notebook struct{ dir string }

// maxHits bounds the lines of a search, to save the model's context.
const maxHits = 50

// path returns the path of a note. The name may lack the suffix.
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

// write makes or replaces a note and reports whether it is new.
func (n notebook) write(name, text string) (created bool, err error) {
	path, err := n.path(name)
	if err != nil {
		return false, err
	}
	// Make the directory only if it is missing. Otherwise MkdirAll would fail for the wrong reason under a policy that
	// lets notes be updated but not created.
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
	}
	_, err = os.Lstat(path)
	created = err != nil
	return created, os.WriteFile(path, []byte(text), 0o644)
}

// search returns the lines that contain query in any case, as "name:line: text". It also lists the notes that it cannot
// read: "not found" and "not allowed to look" are different answers.
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

// grep returns the lines of a note that contain query, which is in lower case.
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
