package testkit

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Plant makes a tree on the host: a name with a slash at its end is a directory, "a -> b" a
// symlink, "a = b" a hard link, every other an executable file with its base name as content. It
// returns the directory, a t.TempDir: it is not below /tmp if TMPDIR names another directory.
func Plant(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	PlantBelow(t, dir, names...)
	return dir
}

// PlantBelow makes the tree of Plant below a given directory.
func PlantBelow(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		hard, other, isHard := strings.Cut(link, " = ")
		p := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(filepath.Join(dir, hard)), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		case isLink:
			err = os.Symlink(target, filepath.Join(dir, link))
		case isHard:
			err = os.Link(filepath.Join(dir, other), filepath.Join(dir, hard))
		default:
			err = os.WriteFile(p, []byte(filepath.Base(name)), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// WriteFile writes a file that only its owner may read, and returns its content.
func WriteFile(t testing.TB, name, text string) []byte {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

// ReadFile returns the content of a file.
func ReadFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(name))
	Must(t, err)
	return string(b)
}

// WriteProgram writes a file that the test will execute. No fork happens meanwhile: a child would
// hold the file open for writing until it executes its own program, and executing the file would
// fail until then (ETXTBSY).
func WriteProgram(name string, content []byte) error {
	os.Remove(name) // it may be a link, whose other names keep what they have
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, content, 0o755)
}

// VarTmp returns the directory for what tests make outside of /tmp, since a jail has a /tmp of its own. test.sh
// gives each run one, which it removes when it is ended early.
func VarTmp() string { return cmp.Or(os.Getenv("MCPJAIL_TEST_DIR"), "/var/tmp") }

// ShortDir returns a new directory with a short path, for sockets: the address of a
// socket has room for 107 bytes.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(VarTmp(), "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Accept listens, accepts every connection and closes it again. It returns the address.
func Accept(t testing.TB, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}
