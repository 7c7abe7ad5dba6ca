package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestLocalHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths")
	}
	h, err := LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	file := filepath.Join(dir, "file")
	put(t, file, "0123456789")
	os.Chmod(file, 0o640)
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, "dir"), 0o700)

	info, err := h.Lstat(file)
	if err != nil || info.Mode != 0o640 || info.ID.Ino == 0 {
		t.Errorf("Lstat: %+v, %v", info, err)
	}
	if now := time.Now().UnixNano(); info.ID.Birth != 0 && (info.ID.Birth > now || now-info.ID.Birth > int64(time.Hour)) {
		t.Errorf("born at %d", info.ID.Birth)
	}
	for name, mode := range map[string]fs.FileMode{"link": fs.ModeSymlink, "dir": fs.ModeDir} {
		if info, err := h.Lstat(filepath.Join(dir, name)); err != nil || info.Mode.Type() != mode {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if _, err := h.Lstat(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	list, err := h.ReadDir(dir)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	if got := fmt.Sprint(list); err != nil || got != fmt.Sprint([]DirEntry{{"dir", fs.ModeDir}, {"file", 0}, {"link", fs.ModeSymlink}}) {
		t.Errorf("ReadDir: %v, %v", got, err)
	}
	if _, err := h.ReadDir(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if head, err := h.ReadHead(file, 4); err != nil || string(head) != "0123" {
		t.Errorf("ReadHead: %q, %v", head, err)
	}
	if head, err := h.ReadHead(file, 40); err != nil || len(head) != 10 {
		t.Errorf("ReadHead: %q, %v", head, err)
	}
	fifo := filepath.Join(dir, "fifo")
	if exec.Command("mkfifo", fifo).Run() == nil {
		if _, err := h.ReadHead(fifo, 1); err == nil {
			t.Error("read a fifo")
		}
		if _, err := h.ReadDir(fifo); err == nil {
			t.Error("listed a fifo")
		}
	}
}

// A replaced file is another object, even where the inode number comes back.
func TestFileIDChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	put(t, file, "")
	before, err := lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	if before.ID.Birth == 0 {
		t.Skip("this filesystem does not record births")
	}
	os.Remove(file)
	time.Sleep(20 * time.Millisecond)
	put(t, file, "")
	if after, _ := lstat(file); after.ID == before.ID {
		t.Errorf("the same ID %+v", after.ID)
	}
}

// The profile of a program of this machine: what the kernel opens to start it
// is in it.
func TestResolveHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("linux")
	}
	h, err := LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	ws, _ := filepath.EvalSymlinks(t.TempDir())
	h.Dir, h.StateDir = ws, filepath.Join(ws, "..", "state")
	for _, line := range []string{"sh -c true", "env true", "python3 -c 0", "node -v", "npx -v"} {
		words := strings.Fields(line)
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		pol, err := InPlace(InPlaceOptions{Command: words, Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		p, ws, err := Resolve(pol, h)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		checkProfile(t, p)
		if len(ws) != 0 || !p.Allows(OpExec, p.Program) {
			t.Errorf("%s: %v %s", line, ws, p.RightsAt(p.Program))
		}
		if real, _ := filepath.EvalSymlinks(p.Program); real != p.Program {
			t.Errorf("%s: program %s is not canonical", line, p.Program)
		}
	}
}

func TestHardLinks(t *testing.T) {
	h, err := LocalHost()
	if err != nil {
		t.Skip(err)
	}
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	put(t, filepath.Join(dir, "one"), "")
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	if err := os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "sub", "two")); err != nil {
		t.Skip(err)
	}
	p := &Profile{Entries: []Entry{{Path: dir, Kind: KindDir, Rights: Read | Write, Origin: OriginRule, Rule: "f:1"}, {Path: filepath.Join(dir, "sub"), Kind: KindDir, Rights: Read, Origin: OriginRule}}}
	if ws := HardLinks(p, h, 100); len(ws) != 1 || !strings.Contains(ws[0].Message, "holds 1 files that have another name elsewhere ("+filepath.Join(dir, "one")+")") {
		t.Errorf("%v", ws)
	}
	if ws := HardLinks(p, h, 0); len(ws) != 0 {
		t.Errorf("beyond the limit: %v", ws)
	}
}

// manyFiles makes a tree like an installed project: 1000 packages, 22,000 files.
func manyFiles(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for i := range 1000 {
		for _, sub := range []string{"dist", "src"} {
			d := filepath.Join(dir, "node_modules", fmt.Sprintf("package-%d", i), sub)
			if err := os.MkdirAll(d, 0o755); err != nil {
				tb.Fatal(err)
			}
			for k := range 11 {
				if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("module-%d.js", k)), nil, 0o644); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	return dir
}

// BenchmarkResolve is the part of a start that this package takes: an empty
// workspace, and one with 22,000 files in 3,000 directories.
func BenchmarkResolve(b *testing.B) {
	h, err := LocalHost()
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, dir string }{{"empty", b.TempDir()}, {"22000-files", manyFiles(b)}} {
		b.Run(bench.name, func(b *testing.B) {
			h.Dir = bench.dir
			p, err := InPlace(InPlaceOptions{Command: []string{"sh"}})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := Resolve(p, h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := Decode([]byte(everyKey), "f"); err != nil {
			b.Fatal(err)
		}
	}
}

// The working directory is named without links: another process may turn those elsewhere,
// and the directory stays what it is.
func TestWorkingDirectoryHasNoLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	t.Chdir(filepath.Join(dir, "link")) // sets PWD, too
	if host, err := LocalHost(); err != nil || host.Dir != filepath.Join(dir, "real") {
		t.Errorf("%s, %v", host.Dir, err)
	}
}
