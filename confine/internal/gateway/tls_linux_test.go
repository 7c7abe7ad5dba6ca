package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
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
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
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
		if got := authorities(p, []byte("OWN"), nil, plan.AuthorityVariables); got != c.want+"OWN" {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}

// TestRunSecret checks that the command of a secret gets the PATH that was resolved for it, and
// not the variables by which a server could make it run other code.
func TestRunSecret(t *testing.T) {
	t.Setenv("PLANTED_LIB", "/grant/x")
	t.Setenv("KEPT_LIB", "/opt/x")
	s := policy.Secret{Env: "T", Command: []string{"sh", "-c", `echo "$0 $PATH $PLANTED_LIB $KEPT_LIB $(pwd)"`, "arg"}, Program: "/bin/sh", Path: "/usr/bin:/bin", Unset: []string{"PLANTED_LIB"}}
	if got, err := runSecret(t.Context(), s); err != nil || got != "arg /usr/bin:/bin  /opt/x /\n" {
		t.Errorf("%q, %v", got, err)
	}
	s.Command, s.Path = []string{"sh", "-c", "planted"}, t.TempDir()
	if got, err := runSecret(t.Context(), s); err == nil || !strings.HasSuffix(err.Error(), "; it ran without PLANTED_LIB, which lead to where a server may write") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := runSecret(t.Context(), policy.Secret{Env: "T", Command: []string{"sh"}}); err == nil || !strings.Contains(err.Error(), "sh was not found") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOpenPlain checks that openPlain opens a plain path and refuses symbolic links.
func TestOpenPlain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	os.WriteFile(filepath.Join(dir, "a/b/t"), []byte("true"), 0o600)
	os.Symlink("a", filepath.Join(dir, "linked"))
	os.Symlink("t", filepath.Join(dir, "a/b/l"))
	for name, want := range map[string]error{"a/b/t": nil, "a/b/l": unix.ELOOP, "linked/b/t": unix.ENOTDIR, "a/b/none": unix.ENOENT} {
		f, err := openPlain(filepath.Join(dir, name))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if b, err := readFile(f, 100); string(b) != "true" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}
