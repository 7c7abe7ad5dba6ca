//go:build linux || darwin

package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestAuthorities checks that of a file that a variable names the server gets certificates and
// nothing else: the launcher reads it with rights that the server does not have.
func TestAuthorities(t *testing.T) {
	const cert = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVqg\n-----END CERTIFICATE-----\n"
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, unix.Mkfifo(pipe, 0o600))
	for _, c := range []struct {
		what, path, want string
	}{
		{"a certificate", file("cert", "a comment\n"+cert), cert},
		{"two, and lines that end as elsewhere", file("two", strings.ReplaceAll(cert+cert, "\n", "\r\n")), cert + cert},
		{"without an end of line", file("end", strings.TrimSuffix(cert, "\n")), cert},
		{"a key", file("key", key), ""},
		{"a key beside a certificate", file("both", cert+key), cert},
		{"a key between the marks of a certificate", file("inside", "-----BEGIN CERTIFICATE-----\n"+key+"-----END CERTIFICATE-----\n"), ""},
		{"words between the marks", file("words", "-----BEGIN CERTIFICATE-----\npassword: x\n-----END CERTIFICATE-----\n"), ""},
		{"half a certificate", file("half", "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n"), ""},
		{"a pipe", pipe, ""},
		{"no file", "/dev/zero", ""},
	} {
		p := &policy.Profile{Env: []policy.Variable{{Name: "SSL_CERT_FILE", Value: c.path}}}
		testkit.Equal(t, c.what, authorities(p, []byte("OWN"), nil, policy.AuthorityVariables), c.want+"OWN")
	}
}

// TestHostRoots: the authorities are those of the file or the directories that a variable names, and else those of
// the system, which may have a directory only.
func TestHostRoots(t *testing.T) {
	cert := func(text string) string {
		return "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n"
	}
	dir, system := t.TempDir(), t.TempDir()
	testkit.Must(t, os.WriteFile(dir+"/mine", []byte(cert("mine")), 0o600), os.WriteFile(system+"/theirs", []byte(cert("theirs")), 0o600))
	bundles, dirs := planpkg.SystemBundles, systemDirs
	defer func() { planpkg.SystemBundles, systemDirs = bundles, dirs }()
	planpkg.SystemBundles, systemDirs = []string{dir + "/none"}, []string{system}
	for _, c := range []struct{ file, dirs, want string }{
		{"", "", cert("theirs")},
		{dir + "/mine", "", cert("mine")},
		{dir + "/none", "", cert("theirs")},
		{"", dir, cert("mine")},
		{"", dir + "/none", ""},
	} {
		t.Setenv("SSL_CERT_FILE", c.file)
		t.Setenv("SSL_CERT_DIR", c.dirs)
		if got, err := hostRoots(); string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
