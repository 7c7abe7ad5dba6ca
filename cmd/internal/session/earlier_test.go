package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// The MD5 of the URL of loginTarget, and of another.
const (
	ownLogin   = "ebd77fe1f9c3b7982e54ea05e912bc24"
	otherLogin = "0123456789abcdef0123456789abcdef"
	loginDir   = ".mcp-auth/mcp-remote-v1/"
)

func plant(t *testing.T, file, text string) {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.WriteFile(t, file, text)
}

// loginTarget returns the target of mcp-remote in a new HOME with logins of two servers, and the
// private HOME.
func loginTarget(t *testing.T, more string) (target *Target, user, own string) {
	t.Helper()
	return ownTarget(t, more, "npx", "-y", "mcp-remote", "http://127.0.0.1:9981/mcp")
}

// ownTarget returns the target of a line with an id.
func ownTarget(t *testing.T, more string, line ...string) (target *Target, user, own string) {
	t.Helper()
	user = t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("MCP_REMOTE_CONFIG_DIR", "")
	t.Chdir(t.TempDir())
	for _, name := range []string{ownLogin + "_tokens.json", ownLogin + "_client_info.json", ownLogin + "_lock.json", otherLogin + "_tokens.json"} {
		plant(t, filepath.Join(user, loginDir, name), "yours")
	}
	const id = "far-4k7q2m9x3vt5"
	plant(t, filepath.Join(user, ".config", "mcp-jail", "servers", "far.toml"), "[servers.far]\nid = \""+id+"\"\ncommand = \""+line[0]+"\"\narguments = [\""+strings.Join(line[1:], `", "`)+"\"]\n"+more)
	target, err := Load(cmdline.ConfigFlags{}, cmdline.PolicyFlags{ID: id}, "", "", cmdline.Server{Given: true, Argv: line})
	testkit.Must(t, err)
	return target, user, target.home().path()
}

func copyLogins(t *testing.T, target *Target) (dirs, said string) {
	t.Helper()
	l := FindEarlier(target)
	told, err := l.Copy()
	testkit.Must(t, err)
	return l.logins(), strings.Join(told, "\n")
}

// TestLogins checks that the logins of the line's own URL are copied, that those of others are not, and
// that the user's stay.
func TestLogins(t *testing.T) {
	target, user, own := loginTarget(t, "preset = \"mcp-remote\"\n")
	dirs, said := copyLogins(t, target)
	if dirs != "~/.mcp-auth" || !strings.Contains(said, "copied: ") || !strings.Contains(said, "the HOME of far") {
		t.Errorf("in %q; said %q", dirs, said)
	}
	entries, err := os.ReadDir(filepath.Join(own, loginDir))
	if err != nil || len(entries) != 2 {
		t.Fatalf("copied %v, %v", entries, err)
	}
	for _, name := range []string{ownLogin + "_tokens.json", ownLogin + "_client_info.json"} {
		info, err := os.Stat(filepath.Join(own, loginDir, name))
		if err != nil || info.Mode() != 0o600 || testkit.ReadFile(t, filepath.Join(own, loginDir, name)) != "yours" {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if testkit.ReadFile(t, filepath.Join(user, loginDir, name)) != "yours" {
			t.Errorf("%s of the user was changed", name)
		}
	}
	if dirs, said := copyLogins(t, target); dirs != "" || said != "" {
		t.Errorf("again: in %q; said %q", dirs, said)
	}
}

// TestLoginsKept checks that a login of the server's own stays, and that what it has of an unfinished one
// stays beside the copy.
func TestLoginsKept(t *testing.T) {
	target, _, own := loginTarget(t, "")
	tokens, client := filepath.Join(own, loginDir, ownLogin+"_tokens.json"), filepath.Join(own, loginDir, ownLogin+"_client_info.json")
	plant(t, client, "its own")
	copyLogins(t, target)
	if testkit.ReadFile(t, client) != "yours" || testkit.ReadFile(t, client+".before-login") != "its own" || testkit.ReadFile(t, tokens) != "yours" {
		t.Error("the unfinished login")
	}
	testkit.Must(t, os.WriteFile(tokens, []byte("its own"), 0o600))
	if dirs, _ := copyLogins(t, target); dirs != "" || testkit.ReadFile(t, tokens) != "its own" {
		t.Error("a login of its own")
	}
}

// TestLoginsPlanted checks that links, which the server may have planted in its private HOME, lead
// nothing out of it, and that a link of the user's is not read.
func TestLoginsPlanted(t *testing.T) {
	target, user, own := loginTarget(t, "preset = \"mcp-remote\"\n")
	outside := t.TempDir()
	planted := filepath.Join(own, filepath.Clean(loginDir))
	testkit.Must(t, os.MkdirAll(filepath.Dir(planted), 0o700))
	testkit.Must(t, os.Symlink(outside, planted))
	if told, err := FindEarlier(target).Copy(); told != nil {
		t.Errorf("%q, %v", told, err)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Fatalf("%v was written outside the private HOME", left)
	}
	// The control: without the link it is copied.
	testkit.Must(t, os.Remove(planted))
	file := filepath.Join(user, loginDir, ownLogin+"_client_info.json")
	testkit.Must(t, os.Remove(file))
	secret := filepath.Join(outside, "secret")
	testkit.WriteFile(t, secret, "secret")
	testkit.Must(t, os.Symlink(secret, file))
	copyLogins(t, target)
	if entries, _ := os.ReadDir(planted); len(entries) != 1 || entries[0].Name() != ownLogin+"_tokens.json" {
		t.Errorf("copied %v", entries)
	}
}
