package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLoginsForgotten: no login outlives the fetch of a Python package: neither one that failed, nor one that
// was killed, after the next installation.
func TestLoginsForgotten(t *testing.T) {
	netrc := filepath.Join(t.TempDir(), "netrc")
	testkit.Must(t, os.WriteFile(netrc, []byte("machine 127.0.0.1 login u password p4ss\n"), 0o600))
	t.Setenv("NETRC", netrc)
	private := serverWheel("private-server", "nothing-of-this-name")
	private.Token = "Basic dTpwNHNz" // u:p4ss
	u := newPythonUser(t, private)
	words := []string{"uvx", "private-server"}
	begin := func(key string) (done func(), home string) {
		t.Helper()
		stage := testkit.Get(u.Store.Stage(key))(t)
		p := &pythonFetch{Installer: u.Installer, stage: stage, line: u.line(words...), jail: u.pythonJail(stage.Dir)}
		testkit.Must(t, p.configure())
		return stage.Close, p.jail.Home()
	}
	kill, killed := begin("killed")
	end, running := begin("running")
	kept := filepath.Join(killed, "cache", "wheel")
	testkit.Must(t, os.Mkdir(filepath.Dir(kept), 0o700))
	testkit.Must(t, os.WriteFile(kept, nil, 0o600))
	for _, home := range []string{killed, running} {
		if text, err := os.ReadFile(filepath.Join(home, "netrc")); err != nil || !strings.Contains(string(text), "p4ss") {
			t.Fatalf("%s: %s, %v", home, text, err) // else nothing is shown below
		}
	}
	kill()
	u.fails("nothing-of-this-name", words...) // the index gives what private-server needs for the login alone
	if _, err := os.Stat(filepath.Join(running, "netrc")); err != nil {
		t.Errorf("an installation that runs has lost its login: %v", err)
	}
	testkit.Works(t, "what was fetched is lost", testkit.ErrorOf(os.Stat(kept)))
	u.forgetsLogins(running)
	end()
	forgetOldLogins(u.Installer)
	u.forgetsLogins("")
}

// forgetsLogins tests that no file of the store, except below a directory, has the password.
func (u pythonUser) forgetsLogins(except string) {
	u.t.Helper()
	err := filepath.WalkDir(u.Store.Dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || except != "" && strings.HasPrefix(file, except) {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), "p4ss") || strings.Contains(string(text), "dTpwNHNz") {
			u.t.Errorf("%s holds the login", file)
		}
		return err
	})
	if err != nil {
		u.t.Error(err)
	}
}
