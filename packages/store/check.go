package store

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ChangedError reports a tree whose files are not those that were installed.
type ChangedError struct {
	ID                      ID
	Dir                     string
	Added, Removed, Changed []string // relative paths, sorted
}

// maxNamed bounds the paths of each kind that an error names.
const maxNamed = 3

func (e *ChangedError) Error() string {
	var parts []string
	add := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		text := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, what+" "+text)
	}
	add("changed:", e.Changed)
	add("added:", e.Added)
	add("removed:", e.Removed)
	if parts == nil {
		parts = append(parts, "the pin names other files")
	}
	return fmt.Sprintf("the installed files of %s are not those that were pinned (%s), below %s", e.ID, strings.Join(parts, "; "), e.Dir)
}

// maxSeal bounds the bytes of a seal: a million files.
const maxSeal = 256 << 20

// Check returns nil if the files of the tree have the digest contents, which Stage.Seal has
// computed, and a *ChangedError if they do not. It usually reads no file of the tree.
func (t *Tree) Check(contents string) error {
	seal, err := readAll(t.seal)
	var h head
	if err == nil {
		h, err = parseHead(seal)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: `mcp-jail install` installs the pinned version again", t.seal.Name(), err)
	}
	if h.contents == contents {
		if now, err := attributesDigest(t.tree.Root(), sealLines(seal)); err == nil && now != "" && now == h.attributes {
			return nil
		}
	}
	return t.checkContents(h, contents)
}

func readAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size(), maxSeal))
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// checkContents reads all files. If they are the pinned ones, it seals them anew, so that the next
// check is fast.
func (t *Tree) checkContents(h head, contents string) error {
	now, err := readTree(t.tree.Root())
	if err != nil {
		return err
	}
	lines := fileLines(now)
	// The pin decides, not the seal: who can write the tree can write the seal beside it.
	if digestOf(lines) != contents {
		return t.changed(now)
	}
	attributes, err := attributesDigest(t.tree.Root(), lines)
	// The contents are the pinned ones, so other times are those of a copy or a backup.
	if err == nil && (attributes != h.attributes || contents != h.contents) {
		h.attributes, h.contents = attributes, contents
		h.count, h.bytes = totals(now)
		writeSeal(t.place, h, lines) // a store that cannot be written is checked slowly each time
	}
	return nil
}

func (t *Tree) changed(now []file) error {
	e := &ChangedError{ID: t.ID, Dir: t.Dir}
	text, err := readAll(t.seal)
	if err != nil {
		return err
	}
	before := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, ` "`); at > 0 {
			if name, err := strconv.Unquote(strings.TrimSuffix(line[at+1:], "\n")); err == nil {
				before[name] = line
			}
		}
	}
	for _, f := range now {
		was, known := before[f.path]
		switch {
		case !known:
			e.Added = append(e.Added, f.path)
		case was != f.line():
			e.Changed = append(e.Changed, f.path)
		}
		delete(before, f.path)
	}
	for name := range before {
		e.Removed = append(e.Removed, name)
	}
	sortAll(e.Removed)
	return e
}
