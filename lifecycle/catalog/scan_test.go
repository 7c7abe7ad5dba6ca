//go:build unix

package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNothingIsWaitedFor: a server creates fifos under names that the next start looks at.
// The scan does not wait for them.
func TestNothingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files   []string
		command []string
		fifo    string
		want    string // of the error; "" is none
	}{
		"a scope":              {append(nodeServer, "home/ws2/node_modules/"), runNode, "home/ws2/node_modules/@x", ""},
		"node_modules":         {nodeServer, runNode, "home/ws2/node_modules", ""},
		"node_modules above":   {nodeServer, runNode, "home/node_modules", ""},
		"package.json":         {nodeServer, runNode, "home/ws2/package.json", ""},
		"a lock file":          {append(nodeServer, "home/ws2/node_modules/"), runNode, "home/ws2/node_modules/.package-lock.json", ""},
		"beside a Python file": {pythonServer, runPython, "opt/s/node_modules", ""},
		"lib":                  {pythonServer, runPython, "opt/py/lib", ""},
		"lib in HOME":          {pythonServer, runPython, privateHome + ".local/lib", ""},
		"a version":            {append(pythonServer, privateHome+".local/lib/"), runPython, privateHome + ".local/lib/python3.11", ""},
		"site-packages":        {append(pythonServer, privateHome+".local/lib/python3.11/"), runPython, privateHome + ".local/lib/python3.11/site-packages", ""},
		"a path file":          {append(pythonServer, privateHome+".local/lib/python3.11/site-packages/"), runPython, privateHome + ".local/lib/python3.11/site-packages/x.pth", "not a small file"},
		"where it leads":       {append(pythonServer, privateHome+".local/lib/python3.11/site-packages/x.pth = ROOT/home/ws/x"), runPython, "home/ws/x", ""},
		"an argument":          {append(nodeServer, "home/ws/"), append(runNode[:2:2], "x"), "home/ws/x", ""},
		"pyvenv.cfg":           {append(nodeServer, "home/ws2/sub/"), runNode, "home/ws2/sub/pyvenv.cfg", ""},
		"npx":                  {append(nodeServer, "bin/npx !", privateHome+".npm/"), []string{"npx", "x"}, privateHome + ".npm/_npx", ""},
		"a project":            {append(nodeServer, "bin/npx !"), []string{"npx", "x"}, "home/ws/package.json", ""},
		"uv's tools":           {[]string{"bin/uvx !", privateHome + ".local/share/uv/"}, []string{"uvx", "x"}, privateHome + ".local/share/uv/tools", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, row.files...)
			fifo := filepath.Join(s.root, row.fifo)
			if err := os.MkdirAll(filepath.Dir(fifo), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(fifo, 0o644); err != nil {
				t.Fatal(err)
			}
			print, err := fingerprintOf(t, s, append([]string{}, row.command...)...)
			switch {
			case row.want == "" && (err != nil || print == ""):
				t.Errorf("%q, %v", print, err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("%q, %v, want %q", print, err, row.want)
			}
		})
	}
}

// TestReadSmall: a fifo that replaces a file between two looks is not waited for, with or
// without a writer.
func TestReadSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	both, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	for size, ok := range map[int]bool{0: true, maxSmallFile: true, maxSmallFile + 1: false} {
		if err := os.WriteFile(file, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := readSmall(file); (err == nil) != ok || ok && len(text) != size {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
	}
	for _, name := range []string{fifo, dir, "/dev/zero", "/proc/self/mem", dir + "/absent"} {
		if _, err := readSmall(name); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		other := filepath.Join(dir, "other")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(other, []byte("x"), 0o600)
			os.Rename(other, file)
			syscall.Mkfifo(other, 0o600)
			os.Rename(other, file)
		}
	}()
	for range 20000 {
		if text, err := readSmall(file); err == nil && string(text) != "x" && string(text) != "" {
			t.Errorf("read %q", text)
		}
	}
	close(stop)
	<-swapped
}

// TestTooSlow: a scan that takes too long fails.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	p := newSite(t, nodeServer...).profile(append([]string{}, runNode...)...)
	for late, want := range map[time.Duration]bool{time.Hour: false, -time.Second: true} {
		s := newScanner(p)
		s.deadline = time.Now().Add(late)
		if s.addProgram(); errors.Is(s.err, ErrNotCacheable) != want {
			t.Errorf("%s: %v", late, s.err)
		}
	}
}

// TestOutOfReach: the scan does not read files that the server may not read, even if the
// server names them in path files or makes links to them.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	const packages = privateHome + ".local/lib/python3.11/site-packages/"
	for name, row := range map[string]struct {
		files   []string
		command []string
		secret  string // is planted later
		seen    bool
	}{
		"a line to what can be read":   {append(pythonServer, packages+"x.pth = ROOT/home/ws/lib", "home/ws/lib/"), runPython, "home/ws/lib/a.py", true},
		"by a link":                    {append(pythonServer, packages+"x.pth = ROOT/home/ws/link", "home/ws/lib/", "home/ws/link -> lib"), runPython, "home/ws/lib/a.py", true},
		"a line to a secret":           {append(pythonServer, packages+"x.pth = ROOT/home/secret", "home/secret/"), runPython, "home/secret/a.py", false},
		"by a link in the workspace":   {append(pythonServer, packages+"x.pth = ROOT/home/ws/link", "home/secret/", "home/ws/link -> ../secret"), runPython, "home/secret/a.py", false},
		"by a part that is a link":     {append(pythonServer, packages+"x.pth = ROOT/home/ws/link/sub", "home/secret/sub/", "home/ws/link -> ../secret"), runPython, "home/secret/sub/a.py", false},
		"a linked node_modules":        {append(nodeServer, "home/secret/", "home/ws2/node_modules -> ../secret"), runNode, "home/secret/a/", false},
		"a linked one that is granted": {append(nodeServer, "home/ws/lib/", "home/ws2/node_modules -> ../ws/lib"), runNode, "home/ws/lib/a/", true},
	} {
		s := newSite(t, row.files...)
		before, err := fingerprintOf(t, s, append([]string{}, row.command...)...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		time.Sleep(tick)
		s.plant(row.secret)
		after, err := fingerprintOf(t, s, append([]string{}, row.command...)...)
		if err != nil || (after != before) != row.seen {
			t.Errorf("%s: changed %v, %v", name, after != before, err)
		}
	}
	// A path that is no directory leads nowhere.
	s := newSite(t, append(pythonServer, packages+"x.pth = /dev/ptmx\n/dev/tty\nROOT/home/secret", "home/secret = x")...)
	if _, err := fingerprintOf(t, s, append([]string{}, runPython...)...); err != nil {
		t.Error(err)
	}
	s = newSite(t, append(pythonServer, packages, "home/secret = ROOT/home/ws", packages+"x.pth -> "+"ROOT/home/secret")...)
	link := filepath.Join(s.root, packages, "x.pth")
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Join(s.root, "home/secret"), link)); err != nil {
		t.Fatal(err)
	}
	if _, err := fingerprintOf(t, s, append([]string{}, runPython...)...); err == nil || !strings.Contains(err.Error(), "the server cannot read") {
		t.Errorf("a path file that is a link to a secret: %v", err)
	}
}
