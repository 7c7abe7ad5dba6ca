package wine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// dirVariable names the directory of a run, for the process that removes it.
const dirVariable = "MCPJAIL_WINE_DIR"

// host is Windows as the tests have it: a prefix of Wine, and the programs of this checkout in it.
type host struct {
	dir  string              // of Linux: everything is below
	user *syscall.Credential // the ordinary user, or nil, which is this one
	home string              // of Windows: C:\users\NAME

	once sync.Once
	err  error
	stop io.Closer // ends the process that removes everything
	gone *exec.Cmd
}

var theHost host

// start returns the host, which the first call makes.
func start(t *testing.T) *host {
	t.Helper()
	testkit.NeedsLong(t)
	if _, err := os.Stat(loader()); err != nil {
		testkit.Skip(t, "wine", "Debian's package is wine64: %v", err)
	}
	theHost.once.Do(func() { theHost.err = theHost.make() })
	if theHost.err != nil {
		t.Fatal(theHost.err)
	}
	return &theHost
}

// loader is the program that starts programs of Windows. Debian has it in no directory of PATH.
func loader() string {
	if found, err := exec.LookPath("wine64"); err == nil {
		return found
	}
	return "/usr/lib/wine/wine64"
}

// make makes the prefix and builds the programs, at the same time.
func (h *host) make() error {
	dir, err := os.MkdirTemp("/var/tmp", "mcp-jail-wine-")
	if err != nil {
		return err
	}
	h.dir = dir
	if err := h.removeAtEnd(); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		id := uint32(2_000_000_000 + os.Getpid()) // no account has it
		h.user = &syscall.Credential{Uid: id, Gid: id}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"prefix", "home", "tmp", "bin"} {
		if err := h.mkdir(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	built := make(chan error, 1)
	go func() { built <- h.build() }()
	return errors.Join(h.boot(), <-built)
}

// mkdir makes a directory that belongs to the user.
func (h *host) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil || h.user == nil {
		return err
	}
	return os.Chown(dir, int(h.user.Uid), int(h.user.Gid))
}

// boot makes the prefix, a Windows 10.
func (h *host) boot() error {
	for _, words := range [][]string{
		{"wineboot", "-i"},
		{"reg", "add", `HKCU\Software\Wine`, "/v", "Version", "/d", "win10", "/f"},
	} {
		cmd := h.start(words...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", words[0], err, out)
		}
	}
	drive := filepath.Join(h.dir, "prefix", "drive_c")
	users, err := filepath.Glob(filepath.Join(drive, "users", "*"))
	if err != nil {
		return err
	}
	for _, user := range users {
		if name := filepath.Base(user); name != "Public" {
			h.home = `C:\users\` + name
		}
	}
	// Where Unix has the administrator's configuration, anyone can make one on Windows: each start that
	// reads it fails.
	notOwn := filepath.Join(drive, "etc", "mcp-jail")
	return errors.Join(os.MkdirAll(notOwn, 0o755), os.WriteFile(filepath.Join(notOwn, "config.toml"), []byte("[servers"), 0o644),
		os.WriteFile(filepath.Join(drive, "windows", "system32", "bcryptprimitives.dll"), randomLibrary(), 0o644))
}

// start returns a program of Windows. Nothing of this process's environment reaches it, and it
// works in C:\.
func (h *host) start(words ...string) *exec.Cmd {
	cmd := exec.Command(loader(), words...)
	cmd.Dir = filepath.Join(h.dir, "prefix", "drive_c")
	if _, err := os.Stat(cmd.Dir); err != nil {
		cmd.Dir = h.dir
	}
	cmd.Env = []string{
		"WINEPREFIX=" + filepath.Join(h.dir, "prefix"), "WINEDEBUG=-all",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=", // no dialog about them, and no entries in menus
		"HOME=" + filepath.Join(h.dir, "home"), "TMPDIR=" + filepath.Join(h.dir, "tmp"), "PATH=/usr/bin:/bin", "USER=tester", "LC_ALL=C.UTF-8",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.user}
	return cmd
}

// build builds mcp-jail, mcp-jail-cli and the test server into the directory bin.
func (h *host) build() error {
	bin := filepath.Join(h.dir, "bin")
	if err := h.compile(map[string]string{"cmd/mcp-jail/wine.go": "main", "cmd/mcp-jail-cli/wine.go": "main"}, "build", "-o", bin, "./cmd/mcp-jail", "./cmd/mcp-jail-cli"); err != nil {
		return err
	}
	return h.compile(nil, "build", "-o", filepath.Join(bin, "server.exe"), "./internal/wine/testdata/server")
}

// compile runs the go command for Windows in the root of the checkout. It adds files, which are not
// there: removal, in a package of the name that each has in the map.
func (h *host) compile(files map[string]string, words ...string) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(h.dir, "overlay-")
	if err != nil {
		return err
	}
	replace, overlay := map[string]string{}, filepath.Join(work, "overlay.json")
	for file, name := range files {
		source := filepath.Join(work, name+".go")
		replace[filepath.Join(root, file)] = source
		if err := os.WriteFile(source, fmt.Appendf(nil, removal, name), 0o644); err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, list, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{words[0], "-trimpath", "-overlay=" + overlay, "-ldflags=-s -w -checklinkname=0"}, words[1:]...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(words, " "), err, out)
	}
	return nil
}

// windowsPath returns the path that a file of Linux has on Windows.
func (h *host) windowsPath(path string) string {
	if below, ok := strings.CutPrefix(path, filepath.Join(h.dir, "prefix", "drive_c")+"/"); ok {
		return `C:\` + strings.ReplaceAll(below, "/", `\`)
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}

// linuxPath returns the path that a file in C: has on Linux.
func (h *host) linuxPath(path string) string {
	return filepath.Join(h.dir, "prefix", "drive_c", strings.ReplaceAll(strings.TrimPrefix(path, `C:\`), `\`, "/"))
}

// program returns the Windows path of a program that build has made.
func (h *host) program(name string) string {
	return h.windowsPath(filepath.Join(h.dir, "bin", name))
}

// newDir returns a new directory in C:, of Windows and of Linux.
func (h *host) newDir(t *testing.T) (windows, linux string) {
	t.Helper()
	base := h.linuxPath(`C:\work`)
	if err := h.mkdir(base); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	linux, err := os.MkdirTemp(base, "")
	if err != nil {
		t.Fatal(err)
	}
	if h.user != nil {
		testkit.Must(t, os.Chown(linux, int(h.user.Uid), int(h.user.Gid)))
	}
	return h.windowsPath(linux), linux
}
