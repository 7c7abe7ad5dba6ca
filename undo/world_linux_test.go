package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// world is a workspace whose server's changes go through a Keeper, as the supervisor has it.
type world struct {
	t        *testing.T
	ws       string
	store    Store
	w        *Writer
	k        *Keeper
	files    []*os.File
	call     int
	noLinks  bool
	timeless bool
	open     map[string]*os.File // what the server has open for writing
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	base := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	w := &world{t: t, ws: filepath.Join(base, "ws"), store: Store{Dir: filepath.Join(base, "undo")}, open: map[string]*os.File{}}
	testkit.Must(t, os.Mkdir(w.ws, 0o755))
	for _, f := range files {
		w.plain(f)
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) at(name string) string { return filepath.Join(w.ws, name) }

// plain makes "a=text", "d/" or "a->b" as the user does.
func (w *world) plain(f string) {
	w.t.Helper()
	name, text, _ := strings.Cut(f, "=")
	name, target, link := strings.Cut(name, "->")
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	switch {
	case strings.HasSuffix(name, "/"):
		w.must(os.MkdirAll(w.at(name), 0o755))
	case link:
		_ = os.Remove(w.at(name))
		w.must(os.Symlink(target, w.at(name)))
	default:
		w.must(os.WriteFile(w.at(name), []byte(text), 0o644))
	}
}

// begin begins a session; perCall is undo = "call".
func (w *world) begin(perCall bool) {
	w.t.Helper()
	writer, err := w.store.Begin(Head{Server: "s"})
	w.must(err)
	w.w, w.call = writer, 0
	w.jail(perCall)
}

func (w *world) jail(perCall bool) {
	w.t.Helper()
	journal, data, err := w.w.Files([]string{w.ws})
	w.must(err)
	self, err := os.Open("/proc/self/fd")
	w.must(err)
	w.files = []*os.File{journal, data, self}
	w.k = &Keeper{
		Journal: journal, Data: data, SelfFD: int(self.Fd()), PerCall: perCall, FileBytes: 1 << 20, TotalBytes: 1 << 30,
		Open: func() func(uint64) bool {
			inodes := map[uint64]bool{}
			for _, f := range w.open {
				st, err := look(int(f.Fd()), "")
				w.must(err)
				inodes[st.ID.Ino] = true
			}
			return func(inode uint64) bool { return inodes[inode] }
		},
	}
}

// calls has the server do something in a call.
func (w *world) calls(do ...func()) {
	w.t.Helper()
	w.call++
	if w.k.PerCall {
		w.must(w.w.BeginCall(Call{Number: w.call, Tool: "tool"}))
	}
	w.k.CallBegins()
	for _, f := range do {
		f()
	}
	w.k.CallEnds()
	if w.k.PerCall {
		w.must(w.w.BeginCall(Call{}))
	}
}

func (w *world) end() string {
	w.leave()
	w.w.Close()
	return w.w.ID()
}

// leave closes what the server has open.
func (w *world) leave() {
	for _, f := range w.files {
		f.Close()
	}
	for name, f := range w.open {
		f.Close()
		delete(w.open, name)
	}
}

func (w *world) keep(name string) error {
	dir, err := os.Open(filepath.Dir(w.at(name)))
	w.must(err)
	defer dir.Close()
	return w.k.Name(int(dir.Fd()), filepath.Base(name), w.at(name))
}

// write makes or changes a file, a directory or a link as the server.
func (w *world) write(f string) {
	name, _, _ := strings.Cut(strings.ReplaceAll(f, "->", "="), "=")
	name = strings.TrimSuffix(name, "/")
	if dir := filepath.Dir(name); dir != "." {
		if _, err := os.Lstat(w.at(dir)); err != nil {
			w.write(dir + "/")
		}
	}
	if w.keep(name) == nil {
		w.plain(f)
	}
}

// hold writes a file and keeps it open; with what is open it only writes.
func (w *world) hold(name, text string) {
	f := w.open[name]
	if f == nil {
		w.must(w.keep(name))
		var err error
		f, err = os.OpenFile(w.at(name), os.O_RDWR|os.O_CREATE, 0o644)
		w.must(err)
		w.k.Made(int(f.Fd()), w.at(name))
		w.open[name] = f
	}
	_, err := f.WriteAt([]byte(text), 0)
	w.must(err)
	w.must(f.Truncate(int64(len(text))))
}

// remove removes a tree as rm -r does.
func (w *world) remove(name string) {
	entries, _ := os.ReadDir(w.at(name))
	if fi, err := os.Lstat(w.at(name)); err != nil || !fi.IsDir() {
		entries = nil
	}
	for _, e := range entries {
		w.remove(name + "/" + e.Name())
	}
	if w.keep(name) == nil {
		_ = os.Remove(w.at(name))
	}
}

// move renames as mv does: a directory that is not empty is copied.
func (w *world) move(from, to string) {
	entries, err := os.ReadDir(w.at(from))
	if fi, e := os.Lstat(w.at(from)); err != nil || e != nil || !fi.IsDir() || len(entries) == 0 {
		if w.keep(from) == nil && w.keep(to) == nil && os.Rename(w.at(from), w.at(to)) == nil {
			if f, err := os.Open(w.at(to)); err == nil {
				w.k.Made(int(f.Fd()), w.at(to))
				f.Close()
			}
		}
		return
	}
	w.write(to + "/")
	for _, e := range entries {
		w.move(from+"/"+e.Name(), to+"/"+e.Name())
	}
	w.remove(from)
}

func (w *world) link(from, to string) {
	if w.keep(from) == nil && w.keep(to) == nil {
		_ = os.Link(w.at(from), w.at(to))
	}
}

func (w *world) chmod(name string, mode fs.FileMode) {
	if w.keep(name) == nil {
		_ = os.Chmod(w.at(name), mode)
	}
}

// tree returns what is in the workspace: kind, mode, and content or target; with times those of files.
func (w *world) tree(times bool) map[string]string {
	all := map[string]string{}
	w.must(filepath.WalkDir(w.ws, func(p string, d fs.DirEntry, err error) error {
		if p == w.ws || err != nil {
			return err
		}
		fi, err := d.Info()
		w.must(err)
		text := fi.Mode().String()
		switch {
		case fi.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			text = "-> " + target
		case fi.Mode().IsRegular():
			b, err := os.ReadFile(p)
			w.must(err)
			if text += " " + string(b); times {
				text += fmt.Sprint(" ", fi.ModTime().UnixNano())
			}
		}
		all[strings.TrimPrefix(p, w.ws+"/")] = text
		return nil
	}))
	return all
}

// undo undoes a session, or a call of it, and returns the paths that stay with the reasons, and the
// session of the undo. take names paths.
func (w *world) undo(id string, call int, take ...string) (stay map[string]string, undo string) {
	w.t.Helper()
	s, err := w.store.Session(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "" // it has changed nothing
	}
	w.must(err)
	for i := range take {
		take[i] = w.at(take[i])
	}
	r := NewRestorer(s, Selection{Call: call, Take: take}, func(string) string { return "" })
	stay = map[string]string{}
	undo, err = r.Run()
	w.must(err)
	for _, step := range r.Steps {
		switch path := strings.TrimPrefix(step.Path, w.ws+"/"); {
		case step.Action == Refuse:
			stay[path] = step.Why
		case step.Err != nil:
			stay[path] = step.Err.Error()
		}
	}
	return stay, undo
}

// clean undoes all of a session and wants no path to stay. Files with several names are named.
func (w *world) clean(what, id string) string {
	w.t.Helper()
	stay, undo := w.undo(id, 0)
	for name, why := range stay {
		if strings.Contains(why, "names, and all") {
			delete(stay, name)
			w.undo(id, 0, name)
		}
	}
	if len(stay) > 0 {
		w.t.Fatalf("%s: stay: %v", what, stay)
	}
	return undo
}

func (w *world) wants(what string, want map[string]string) {
	w.t.Helper()
	got := w.tree(!w.timeless)
	var diff []string
	for _, p := range slices.Compact(slices.Sorted(slices.Values(append(keys(got), keys(want)...)))) {
		if got[p] != want[p] {
			diff = append(diff, fmt.Sprintf("%s: got %q, want %q", p, got[p], want[p]))
		}
	}
	if len(diff) > 0 {
		w.t.Fatalf("%s:\n%s", what, strings.Join(diff, "\n"))
	}
}

func keys(m map[string]string) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
