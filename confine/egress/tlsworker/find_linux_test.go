package tlsworker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFind: the program is taken from where the server cannot write only.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	os.Mkdir(a, 0o755)
	os.Mkdir(b, 0o755)
	only := func(paths ...string) func(string, policy.Rights) (policy.Writer, bool) {
		return func(p string, _ policy.Rights) (policy.Writer, bool) {
			return policy.Writer{Name: `the tool "x"`, Rule: "c.toml:1"}, slices.Contains(paths, p)
		}
	}
	nothing := only()
	self := filepath.Join(a, "mcp-jail")
	testkit.Is(t, "", testkit.ErrorOf(tlsworker.Find(self, b, nothing)), tlsworker.ErrMissing)
	make := func(dir string, mode os.FileMode) string {
		file := filepath.Join(dir, tlsworker.Name)
		testkit.Must(t, os.WriteFile(file, nil, mode))
		return file
	}
	inPath := make(b, 0o755)
	testkit.Equal(t, "", testkit.Get(tlsworker.Find(self, "relative:"+b, nothing))(t), inPath)
	beside := make(a, 0o755)
	testkit.Equal(t, "", testkit.Get(tlsworker.Find(self, b, nothing))(t), beside)
	for _, c := range []struct {
		shut   string
		refuse bool
	}{{beside, true}, {a, false}, {dir, false}} {
		got, err := tlsworker.Find(self, b, only(c.shut))
		if c.refuse != (err != nil) || err != nil && !strings.Contains(err.Error(), `the tool "x" may write to `+c.shut+" (c.toml:1)") {
			t.Errorf("%s can be written to: %s %v", c.shut, got, err)
		}
	}
	os.Chmod(beside, 0o644)
	for _, shut := range []string{inPath, b, dir} {
		if got, err := tlsworker.Find(self, b, only(shut)); err == nil || !strings.Contains(err.Error(), "may write to "+shut) {
			t.Errorf("%s can be written to: %s %v", shut, got, err)
		}
	}
	testkit.Equal(t, "not executable", testkit.Get(tlsworker.Find(self, b, nothing))(t), inPath)

	// A link that the server could replace would choose another program of the host's.
	linked, current := filepath.Join(dir, "linked"), filepath.Join(dir, "current")
	os.Mkdir(linked, 0o755)
	os.Mkdir(current, 0o755)
	os.Symlink("../current/tls", filepath.Join(linked, tlsworker.Name))
	os.Symlink(inPath, filepath.Join(current, "tls"))
	testkit.Equal(t, "by links", testkit.Get(tlsworker.Find(self, linked, nothing))(t), inPath)
	for _, shut := range []string{linked, current} {
		if got, err := tlsworker.Find(self, linked, only(shut)); err == nil || !strings.Contains(err.Error(), "may replace the symbolic link "+shut) {
			t.Errorf("%s can be written to: %s %v", shut, got, err)
		}
	}
}

// TestCheckRoots: the roots that upstreams are verified with are not for a server to
// choose.
func TestCheckRoots(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	reach := func(p string, _ policy.Rights) (policy.Writer, bool) {
		return policy.Writer{Name: "the server"}, p == dir
	}
	for variable, refused := range map[string]bool{"SSL_CERT_FILE=" + dir + "/ca.pem": true, "SSL_CERT_DIR=/etc/ssl/certs:" + dir: true, "SSL_CERT_FILE=/etc/ssl/ca.pem": false, "SSL_CERT_FILE=": false, "SSL_CERT_FILE=ca.pem": true} {
		t.Setenv("SSL_CERT_FILE", "")
		t.Setenv("SSL_CERT_DIR", "")
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
		if err := tlsworker.CheckRoots(reach); (err != nil) != refused || refused && !strings.Contains(err.Error(), "the server may write to "+dir) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
