package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestLocalHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mcp-jail resolves no Windows paths")
	}
	h, err := LocalHost()
	testkit.Must(t, err)
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	file := filepath.Join(dir, "file")
	testkit.WriteFile(t, file, "0123456789")
	os.Chmod(file, 0o640)
	testkit.Must(t, os.Symlink("file", filepath.Join(dir, "link")))
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

// TestFileIDChanges checks that a replaced file has another ID, even if the inode number
// is used again.
func TestFileIDChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	testkit.WriteFile(t, file, "")
	before, err := lstat(file)
	testkit.Must(t, err)
	if before.ID.Birth == 0 {
		testkit.Skip(t, "btime", "this filesystem does not record when a file was created")
	}
	os.Remove(file)
	time.Sleep(20 * time.Millisecond)
	testkit.WriteFile(t, file, "")
	if after, _ := lstat(file); after.ID == before.ID {
		t.Errorf("the same ID %+v", after.ID)
	}
}

// TestWorkingDirectoryHasNoLinks checks that the name of the working directory has no
// links in it. Another process may change a link, which does not change the working
// directory.
func TestWorkingDirectoryHasNoLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	testkit.Must(t, os.Symlink("real", filepath.Join(dir, "link")))
	t.Chdir(filepath.Join(dir, "link")) // sets PWD, too
	if host, err := LocalHost(); err != nil || host.Dir != filepath.Join(dir, "real") {
		t.Errorf("%s, %v", host.Dir, err)
	}
}
