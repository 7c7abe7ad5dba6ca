package doctorcmd

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOwnDirs tests what doctor says of mcp-jail's own directories, and which of them stop something.
func TestOwnDirs(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(home string) error
		root  bool // only root can do that
		want  string
	}{
		"nothing yet":    {func(string) error { return nil }, false, ""},
		"all there":      {func(home string) error { return os.MkdirAll(home+"/.local/state/mcp-jail", 0o700) }, false, ""},
		"a file is data": {func(home string) error { return os.WriteFile(home+"/.local", nil, 0o600) }, false, "! mcp-jail cannot write in ~/.local/state/mcp-jail: ~/.local/state cannot be looked at: statx ~/.local/state: not a directory\n! mcp-jail cannot write in ~/.local/share/mcp-jail: ~/.local/share cannot be looked at: statx ~/.local/share: not a directory"},
		"a file is the cache": {func(home string) error { return os.WriteFile(home+"/.cache", nil, 0o600) }, false,
			"mcp-jail cannot write in ~/.cache/mcp-jail: ~/.cache/mcp-jail cannot be looked at: statx ~/.cache/mcp-jail: not a directory"},
		"after sudo": {func(home string) error {
			if err := os.MkdirAll(home+"/.local/share/mcp-jail/packages/npm", 0o700); err != nil {
				return err
			}
			return os.Chown(home+"/.local/share/mcp-jail/packages/npm", 12345, 12345)
		}, true, "! ~/.local/share/mcp-jail/packages/npm belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				t.Skip("only root gives a file to another user")
			}
			i, dir := newInstallation(t)
			testkit.Must(t, c.spoil(dir+"/home"))
			_, all := checkOwnDirs(i.host)
			if got := strings.ReplaceAll(texts(all), dir+"/home", "~"); got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
			// Nothing is left of the trial.
			var names []string
			testkit.Must(t, filepath.WalkDir(dir+"/home", func(path string, d os.DirEntry, err error) error {
				names = append(names, path)
				return err
			}))
			if len(names) > 7 || name == "nothing yet" && len(names) > 1 {
				t.Errorf("left behind: %q", names)
			}
		})
	}
}

// TestFixWrite tests the advice for errors of a write.
func TestFixWrite(t *testing.T) {
	for err, want := range map[error]string{syscall.ENOSPC: "rm --unused", syscall.EDQUOT: "rm --unused", syscall.EROFS: "mount", syscall.EACCES: ""} {
		if got := fixWrite(&os.PathError{Op: "write", Path: "x", Err: err}); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// TestCheckTemp tests the directory of temporary files.
func TestCheckTemp(t *testing.T) {
	dir := testkit.Plant(t, "file", "there/")
	for name, want := range map[string]string{"there": "", "file": "it is not a directory", "missing": "no such file or directory", "file/below": "not a directory"} {
		if got := texts(checkTemp(filepath.Join(dir, name))); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFileSystemOf tests that a directory that does not exist yet is that in which it would be made.
func TestFileSystemOf(t *testing.T) {
	dir := t.TempDir()
	free, noexec, ok := fileSystemOf(dir)
	below, same, ok2 := fileSystemOf(dir + "/not/yet")
	if !ok || !ok2 || free <= 0 || below <= 0 || noexec != same {
		t.Errorf("%d %v %v, and below %d %v %v", free, noexec, ok, below, same, ok2)
	}
	if _, _, ok := fileSystemOf("/proc"); ok {
		t.Error("/proc has room")
	}
}

// TestTryWriteFiles tests that a file is written, too: where there is no room for one, a directory can
// still be made.
func TestTryWriteFiles(t *testing.T) {
	dir := t.TempDir()
	if err := tryWrite(dir); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	testkit.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: was.Max}))
	err := tryWrite(dir)
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
