package undo

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
)

// undone is what an undo did.
type undone struct {
	lost bool // it cannot say everything
	*span
	from, to workspace
	said     string // what it left, with the reasons
	killed   bool
}

// judge fails unless the user still has everything.
func (m *model) judge(u *undone) {
	m.texts(u)
	if u.killed {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(u.from)) {
		was := u.from[p]
		now, stands := u.to[p]
		_, touched := u.paths[p]
		_, object := u.inodes[was.inode]
		touched = touched || object || was.names > 1 || u.before[p].names > 1 || u.below(p)
		switch {
		case strings.HasPrefix(path.Base(p), steps.TempPrefix):
		case m.maker[p] == nil && !u.exposed[p] && (!stands || now.kind != was.kind):
			m.fail(u, "%s has the user's name and is %q now", p, now.kind)
		case !touched && (!stands || !now.has(was)):
			m.fail(u, "the session did not touch %s, and it is gone or another one", p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(u.to)) {
		_, was := u.from[p]
		if _, touched := u.paths[p]; !was && !touched && u.of.undoes == nil && strings.HasPrefix(path.Base(p), steps.TempPrefix) && !strings.Contains(u.said, p) {
			m.fail(u, "%s is left", p)
		}
	}
	if u.mixed || u.weak || u.lost || u.span.lost || u.ended == 0 || u.of.undoes != nil {
		return
	}
	if len(u.paths) > 0 {
		m.judged++
	}
	for _, p := range slices.Sorted(maps.Keys(u.paths)) {
		if want, now := u.before[p], u.to[p]; !want.has(u.after[p]) && !want.has(now) && !u.names(p) {
			m.fail(u, "%s is %q, and should be %q, and is not named", p, now.text, want.text)
		}
	}
}

// below reports whether a directory above a path was touched.
func (u *undone) below(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, ok := u.paths[dir]; ok {
			return true
		}
	}
	return false
}

// names reports whether the undo names a path, or one above or below it.
func (u *undone) names(p string) bool {
	for line := range strings.Lines(u.said) {
		said, _, _ := strings.Cut(line, ": ")
		if said == p || strings.HasPrefix(said, p+"/") || strings.HasPrefix(p, said+"/") {
			return true
		}
	}
	return false
}

// texts fails unless each text of the user's is where it was before the undo or before the session.
func (m *model) texts(u *undone) {
	for _, text := range slices.Sorted(maps.Keys(m.users)) {
		from := u.from.places(text)
		if len(from) == 0 || m.copied[text] {
			continue
		}
		may := append(from, u.before.places(text)...)
		if m.placed[text] > u.began { // the user has written it meanwhile
			may = append(may, m.been[text]...)
		}
		if slices.ContainsFunc(u.to.places(text), func(p string) bool {
			temp := strings.HasPrefix(path.Base(p), steps.TempPrefix)
			return slices.Contains(may, p) || temp && (u.killed || strings.Contains(u.said, p))
		}) {
			continue
		}
		// The user asked for it: what an undo has put back is gone when that undo is undone. And what
		// others write between two changes of the server is replaced, where they left it, or if the
		// server could write it since. Both are kept. Where a record is missing, undo cannot know.
		asked := u.of.undoes != nil && u.made(text, from)
		left := !slices.ContainsFunc(from, func(p string) bool { return !slices.Contains(m.put[text], p) })
		replaced := u.touched[text] && (u.opened[text] || left || u.span.lost)
		if !asked && !u.exposed[text] && !replaced {
			slices.Sort(may)
			m.fail(u, "%q was at %v, and is at %v", text, slices.Compact(may), u.to.places(text))
		}
		if u.from[from[0]].kind == File && !m.isStored(text) {
			m.fail(u, "%q is gone, and not kept", text)
		}
	}
}

// made reports whether an undo has put a text where it is, and did not take it from another place.
func (sp *span) made(text string, at []string) bool {
	had := sp.before.places(text)
	return !slices.ContainsFunc(at, func(p string) bool { return slices.Contains(had, p) || sp.after[p].text != text }) &&
		(len(had) == 0 || slices.ContainsFunc(had, func(p string) bool { return sp.after[p].text == text }))
}

// isStored reports whether the store has a text.
func (m *model) isStored(text string) (found bool) {
	filepath.WalkDir(m.store.Dir, func(name string, d fs.DirEntry, err error) error {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(text)) {
			found = true
		}
		return nil
	})
	return found
}

func (m *model) fail(u *undone, format string, a ...any) {
	m.rt.Helper()
	m.rt.Logf("%s\nbefore the session:\n%s\nbefore the undo:\n%s\nafter it:\n%s", strings.Join(m.history, "\n"), u.before, u.from, u.to)
	m.rt.Fatalf(format, a...) // without times: rapid compares the texts of failures
}
