//go:build linux || darwin

package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestRunSecret checks that the command of a secret gets the PATH that was resolved for it, and
// not the variables by which a server could make it run other code.
func TestRunSecret(t *testing.T) {
	t.Setenv("PLANTED_LIB", "/grant/x")
	t.Setenv("KEPT_LIB", "/opt/x")
	s := policy.Secret{Env: "T", Command: []string{"sh", "-c", `echo "$0 $PATH $PLANTED_LIB $KEPT_LIB $(pwd)"`, "arg"}, Program: "/bin/sh", Path: "/usr/bin:/bin", Unset: []string{"PLANTED_LIB"}}
	testkit.Equal(t, "", testkit.Get(runSecret(t.Context(), s))(t), "arg /usr/bin:/bin  /opt/x /\n")
	s.Command, s.Path = []string{"sh", "-c", "planted"}, t.TempDir()
	if got, err := runSecret(t.Context(), s); err == nil || !strings.HasSuffix(err.Error(), "; it ran without PLANTED_LIB, whose values name files that a server may write") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := runSecret(t.Context(), policy.Secret{Env: "T", Command: []string{"sh"}}); err == nil || !strings.Contains(err.Error(), "sh was not found") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOpenPlain checks that openPlain opens a plain path and refuses symbolic links.
func TestOpenPlain(t *testing.T) {
	dir := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	os.WriteFile(filepath.Join(dir, "a/b/t"), []byte("true"), 0o600)
	os.Symlink("a", filepath.Join(dir, "linked"))
	os.Symlink("t", filepath.Join(dir, "a/b/l"))
	for name, want := range map[string]error{"a/b/t": nil, "a/b/l": unix.ELOOP, "linked/b/t": unix.ENOTDIR, "a/b/none": unix.ENOENT} {
		f, err := openPlain(filepath.Join(dir, name))
		testkit.Is(t, name, err, want)
		if err == nil {
			if b, err := readFile(f, 100); string(b) != "true" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}

// TestSecretEnvironment: a secret's command gets what keepers of secrets need and what it names. It
// gets nothing that loads code, even if it names it, and no other variable.
func TestSecretEnvironment(t *testing.T) {
	s := policy.Secret{Command: []string{"sh", "-c", "vault $VAULT_NAME ${OTHER_NAME-} $GONE"}, Path: "/usr/bin", Unset: []string{"GONE"}}
	inherited := []string{"HOME=/h", "PATH=/e", "GNUPGHOME=/g", "VAULT_ADDR=a", "VAULT_NAME=v", "OTHER_NAME=o", "NAME=n", "GONE=g", "LD_PRELOAD=l", "NODE_OPTIONS=o", "npm_config_prefix=p"}
	want := []string{"HOME=/h", "GNUPGHOME=/g", "VAULT_ADDR=a", "VAULT_NAME=v", "OTHER_NAME=o", "PATH=/usr/bin"}
	testkit.Equal(t, "", secretEnvironment(s, inherited), want)
}
