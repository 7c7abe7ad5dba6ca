package undo

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
)

// item is what the workspace has at a path.
type item struct {
	kind  Kind
	text  string // the content of a file, or the target of a link
	inode uint64
	names uint64
	mode  fs.FileMode
	mtime int64
}

// has reports whether an object looks like another one.
func (o item) has(other item) bool { return o.kind == other.kind && o.text == other.text }

// workspace has the objects by their paths below the root.
type workspace map[string]item

func (w workspace) places(text string) (out []string) {
	for p, o := range w {
		if o.text == text {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// below returns a path and what is below it.
func (w workspace) below(top string) (out []string) {
	for p := range w {
		if p == top || strings.HasPrefix(p, top+"/") {
			out = append(out, p)
		}
	}
	return out
}

// withoutTemps leaves out the temporary names of undos. They are nobody's, so an undo that removes one
// which an earlier undo has left does not record it.
func (w workspace) withoutTemps() workspace {
	out, names := workspace{}, map[uint64]uint64{}
	for p, o := range w {
		if !strings.HasPrefix(path.Base(p), steps.TempPrefix) {
			out[p] = o
			names[o.inode]++
		}
	}
	for p, o := range out {
		o.names = names[o.inode]
		out[p] = o
	}
	return out
}

// String has a line for each path. Names of one object have the first of them.
func (w workspace) String() string {
	first := map[uint64]string{}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(w)) {
		o := w[p]
		fmt.Fprintf(&out, "%s %c %v", p, o.kind, o.mode)
		if o.kind != Dir {
			fmt.Fprintf(&out, " %q %d", o.text, o.mtime)
		}
		if o.kind == File && o.names > 1 {
			if first[o.inode] == "" {
				first[o.inode] = p
			}
			out.WriteString(" = " + first[o.inode])
		}
		out.WriteString("\n")
	}
	return out.String()
}

// scan reads the workspace.
func (m *model) scan() workspace {
	out := workspace{}
	m.check(filepath.WalkDir(m.root, func(full string, d fs.DirEntry, err error) error {
		m.check(err)
		info, err := d.Info()
		m.check(err)
		st := info.Sys().(*syscall.Stat_t)
		o := item{kind: object.KindOf(st.Mode), inode: st.Ino, names: uint64(st.Nlink), mode: info.Mode(), mtime: info.ModTime().UnixNano()}
		switch o.kind {
		case File:
			b, err := os.ReadFile(full)
			m.check(err)
			o.text = string(b)
		case Link:
			o.text, err = os.Readlink(full)
			m.check(err)
		}
		if rel, _ := filepath.Rel(m.root, full); rel != "." {
			out[rel] = o
		}
		return nil
	}))
	return out
}
