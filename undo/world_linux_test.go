package undo

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
	"golang.org/x/sys/unix"
)

// world is a directory that a server changes as the jail's supervisor lets it.
type world struct {
	t      testing.TB
	root   string
	store  Store
	writer *Writer
	files  *Files
	keeper *Keeper
	random *rand.Rand
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	w := &world{t: t, root: filepath.Join(dir, "work"), store: Store{Dir: filepath.Join(dir, "store")}, random: rand.New(rand.NewPCG(1, 2))}
	w.check(os.Mkdir(w.root, 0o755))
	t.Cleanup(func() { // so that an ordinary user can remove the tree
		filepath.WalkDir(w.root, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return w
}

// filled returns a world with files: see fill.
func filled(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.fill()
	return w
}

// begun returns a world with files in which a session has begun.
func begun(t testing.TB) *world {
	t.Helper()
	w := filled(t)
	w.begin()
	return w
}

func (w *world) check(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// begin starts a session with one jail.
func (w *world) begin() {
	w.t.Helper()
	var err error
	w.writer, err = w.store.Begin(Head{Server: "test"})
	w.check(err)
	w.newJail()
}

func (w *world) newJail() {
	var err error
	w.files, err = w.writer.Jail([]string{w.root})
	w.check(err)
	w.keeper = keeperOf(w.t, w.files)
}

// keeperOf returns the keeper that writes into the files. It refers to them
// as long as it is used. Without that, the garbage collector may close a file whose descriptor the
// keeper still writes to.
func keeperOf(t testing.TB, f *Files) *Keeper {
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	testkit.Must(t, err)
	t.Cleanup(func() { unix.Close(self) })
	return &Keeper{
		Journal: int(f.Journal.Fd()), Data: int(f.Data.Fd()), SelfFD: self, FileBytes: 64 << 20, TotalBytes: 1 << 30,
		Tell: func(text string) {
			t.Errorf("not kept: %s", text)
			runtime.KeepAlive(f)
		},
	}
}

// end ends the session properly.
func (w *world) end() {
	w.files.Finish()
	w.writer.Close()
}

func (w *world) at(name string) string { return filepath.Join(w.root, name) }

// temp returns the temporary name that the undo of the last session uses beside a name.
func (w *world) temp(name string) string {
	w.t.Helper()
	r := Restorer{Session: w.session()}
	return filepath.Join(filepath.Dir(name), steps.TempName(r.Session, filepath.Base(name)))
}

func (w *world) parent(name string) (dir int, base string) {
	p, err := object.OpenPlace(w.at(name))
	w.check(err)
	return p.Dir, p.Name
}

func (w *world) name(name string, content bool) {
	dir, base := w.parent(name)
	defer unix.Close(dir)
	w.keeper.Name(dir, base, w.at(name), content)
}

// write writes to a file as open(2) with O_CREAT does.
func (w *world) write(name, text string, flags int) {
	defer w.keeper.Begin()()
	fd, err := unix.Open(w.at(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		w.keeper.Content(fd, w.at(name))
		unix.Close(fd)
	} else {
		w.name(name, false)
	}
	f, err := os.OpenFile(w.at(name), flags|os.O_CREATE|os.O_WRONLY, 0o644)
	w.check(err)
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		w.keeper.Made(int(f.Fd()), w.at(name))
	}
	_, err = f.WriteString(text)
	w.check(err)
	w.check(f.Close())
}

func (w *world) remove(name string) {
	defer w.keeper.Begin()()
	w.name(name, true)
	w.check(os.Remove(w.at(name)))
}

func (w *world) rmdir(name string) {
	defer w.keeper.Begin()()
	w.name(name, false)
	w.check(os.Remove(w.at(name)))
}

func (w *world) mkdir(name string) {
	defer w.keeper.Begin()()
	w.name(name, false)
	w.check(os.Mkdir(w.at(name), 0o755))
}

func (w *world) symlink(target, name string) {
	defer w.keeper.Begin()()
	w.name(name, false)
	w.check(os.Symlink(target, w.at(name)))
}

func (w *world) link(from, to string) {
	defer w.keeper.Begin()()
	w.name(from, false)
	w.name(to, false)
	w.check(os.Link(w.at(from), w.at(to)))
}

func (w *world) chmod(name string, mode uint32) {
	defer w.keeper.Begin()()
	fd, err := unix.Open(w.at(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	w.check(err)
	defer unix.Close(fd)
	w.keeper.Attributes(fd, w.at(name))
	w.check(os.Chmod(w.at(name), fs.FileMode(mode)))
}

func (w *world) rename(from, to string, flags uint) error {
	defer w.keeper.Begin()()
	fd, fb := w.parent(from)
	defer unix.Close(fd)
	td, tb := w.parent(to)
	defer unix.Close(td)
	w.keeper.Rename(fd, fb, w.at(from), td, tb, w.at(to), flags&unix.RENAME_EXCHANGE != 0)
	return unix.Renameat2(fd, fb, td, tb, flags)
}

// tree returns a line for each object below the root: its mode, its content or target, its time,
// and which names are hard links of one another.
func (w *world) tree() string {
	var out strings.Builder
	first := map[uint64]string{}
	w.check(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		w.check(err)
		info, err := d.Info()
		w.check(err)
		rel, _ := filepath.Rel(w.root, path)
		fmt.Fprintf(&out, "%s %v", rel, info.Mode())
		st := info.Sys().(*syscall.Stat_t)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			out.WriteString(" -> " + target)
		case info.Mode().IsRegular():
			text := w.read(path, info.Mode())
			fmt.Fprintf(&out, " %d:%d %d %q", st.Uid, st.Gid, info.ModTime().UnixNano(), text)
			if st.Nlink > 1 {
				if first[st.Ino] == "" {
					first[st.Ino] = rel
				}
				fmt.Fprintf(&out, " = %s", first[st.Ino])
			}
		}
		out.WriteString("\n")
		return nil
	}))
	return out.String()
}

// read returns the content of a file that its owner may not read for now.
func (w *world) read(path string, mode fs.FileMode) []byte {
	text, err := os.ReadFile(path)
	if os.IsPermission(err) {
		w.check(os.Chmod(path, mode|0o400))
		text, err = os.ReadFile(path)
		w.check(os.Chmod(path, mode))
	}
	w.check(err)
	return text
}

// fill makes a tree of files, directories and links.
func (w *world) fill() {
	for d := range 4 {
		dir := fmt.Sprintf("d%d", d)
		w.check(os.MkdirAll(w.at(dir+"/sub"), 0o755))
		for f := range 4 {
			name := w.at(fmt.Sprintf("%s/f%d", dir, f))
			w.check(os.WriteFile(name, fmt.Appendf(nil, "file %d of %s", f, dir), 0o644))
			old := time.Unix(1e9+int64(d*10+f), 5000)
			w.check(os.Chtimes(name, old, old))
		}
		w.check(os.Symlink("f0", w.at(dir+"/link")))
		w.check(os.WriteFile(w.at(dir+"/sub/deep"), []byte("deep "+dir), 0o600))
		w.check(os.Link(w.at(dir+"/f1"), w.at(dir+"/sub/hard")))
	}
}

// session returns the last session that is no undo.
func (w *world) session() *Session {
	w.t.Helper()
	all, err := w.store.Sessions()
	w.check(err)
	for _, s := range all {
		if s.Head.Undoes == "" {
			return s
		}
	}
	w.t.Fatal("there is no session")
	return nil
}

// undo undoes a session, with a session of its own.
func (w *world) undo(s *Session, call int, paths ...string) (*Restorer, []Outcome, string) {
	w.t.Helper()
	r, err := NewRestorer(s, Selection{Call: call, Paths: paths})
	w.check(err)
	writer, err := w.store.Begin(Head{Server: "test", Undoes: s.ID})
	w.check(err)
	files, err := writer.Jail(s.Head.Roots)
	w.check(err)
	out := r.Do(keeperOf(w.t, files))
	files.Finish()
	writer.Close()
	return r, out, writer.Dir
}

// run undoes the last session as the command does, with the keeper of a process.
func (w *world) run(sel Selection) *Restorer {
	w.t.Helper()
	r, err := NewRestorer(w.session(), sel)
	w.check(err)
	_, _, err = r.Run(w.store)
	w.check(err)
	return r
}

func (w *world) mustUndo(s *Session, call int, paths ...string) string {
	w.t.Helper()
	r, out, dir := w.undo(s, call, paths...)
	for _, s := range Refused(r.Steps) {
		w.t.Errorf("refused: %s: %s", s.Path, s.Why)
	}
	for _, o := range out {
		if o.Err != nil {
			w.t.Errorf("%s %s: %s", o.Action, o.Path, o.Err)
		}
	}
	return dir
}

func (w *world) same(what, want string) {
	w.t.Helper()
	if got := w.tree(); got != want {
		w.t.Errorf("%s: the tree is\n%s\nand should be\n%s", what, diffLines(want, got), "the same")
	}
}

// diffLines returns the lines that differ.
func diffLines(a, b string) string {
	var out []string
	in := func(text, line string) bool { return strings.Contains("\n"+text, "\n"+line+"\n") }
	for _, l := range strings.Split(a, "\n") {
		if !in(b, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range strings.Split(b, "\n") {
		if !in(a, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// readSession reads the session in a directory.
func readSession(dir string) (*Session, error) {
	return Store{Dir: filepath.Dir(dir)}.Session(filepath.Base(dir))
}

// file returns the path of one of the two files of a jail.
func (w *world) file(s *Session, jail int, suffix string) string {
	dir := filepath.Join(w.store.Dir, s.ID)
	entries, err := os.ReadDir(dir)
	w.check(err)
	var numbers []int
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), journal.JournalSuffix); is {
			n, err := strconv.Atoi(name)
			w.check(err)
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return filepath.Join(dir, strconv.Itoa(numbers[jail])+suffix)
}

// nameOf returns the part of the names that the files of a jail have in common.
func nameOf(f *Files) string {
	return strings.TrimSuffix(filepath.Base(f.Journal.Name()), journal.JournalSuffix)
}
