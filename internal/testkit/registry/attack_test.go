package registry

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAttack tests that what a package tries in its script succeeds outside of a jail: it is the control
// of the tests in which npm and pip install such a package.
func TestAttack(t *testing.T) {
	t.Run("npm", func(t *testing.T) {
		if _, err := exec.LookPath("npm"); err != nil {
			testkit.Skip(t, "npm", "%v", err)
		}
		v := newVictim(t, "$INIT_CWD")
		v.site.Publish(MCPServer{Name: "thief", OnInstall: &v.attack}.Package())
		v.does("npm", "install", "thief", "--ignore-scripts")
		if _, err := os.Stat(v.attack.Report); err == nil {
			t.Fatal("the script ran although scripts were off")
		}
		v.does("npm", "rebuild")
		v.robbed()
	})
	t.Run("pip", func(t *testing.T) {
		testkit.NeedsLong(t)
		// A launcher of versions may find none with another home directory: it is asked now.
		python, err := exec.Command("python3", "-c", "import sys, pip; print(sys.executable)").Output()
		if err != nil {
			testkit.Skip(t, "python3", "with pip: %v", err)
		}
		v := newVictim(t, "$HOME/../project")
		v.site.Upload(MCPServer{Name: "built", OnInstall: &v.attack}.Wheel())
		v.does(strings.TrimSpace(string(python)), "-m", "pip", "install", "--no-compile", "--target", t.TempDir(), "built")
		v.robbed()
	})
}

// victim is a user with a key, and a registry that has an attack on it.
type victim struct {
	t      *testing.T
	site   *Site
	dir    string
	attack Attack
}

func newVictim(t *testing.T, project string) *victim {
	v := &victim{t: t, site: Start(t, Stock{}), dir: t.TempDir()}
	for name, text := range map[string]string{"home/.ssh/id_ed25519": "the key", "project/package.json": `{"name": "project", "version": "1.0.0"}`} {
		file := filepath.Join(v.dir, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600))
	}
	v.attack = Attack{
		Read: []string{"~/.ssh/id_ed25519", "~/.aws/credentials"}, Write: []string{project + "/.git/hooks/pre-commit"},
		Send: []string{v.site.URL + "/-/loot", "tcp://127.0.0.1:1"}, Report: filepath.Join(v.dir, "attempts"),
	}
	return v
}

func (v *victim) does(name string, args ...string) {
	v.t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = filepath.Join(v.dir, "project"), Environ(v.site.URL, filepath.Join(v.dir, "home"))
	if out, err := c.CombinedOutput(); err != nil {
		v.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// robbed fails unless the attempts were told, the hook is there, and the key has arrived.
func (v *victim) robbed() {
	v.t.Helper()
	text, err := os.ReadFile(v.attack.Report)
	testkit.Must(v.t, err)
	got := Attempts(string(text))
	slices.SortFunc(got, func(a, b Attempt) int { return strings.Compare(a.Do+a.What, b.Do+b.What) })
	want := []Attempt{
		{Do: "read", What: "~/.aws/credentials", Failed: "ENOENT"}, {Do: "read", What: "~/.ssh/id_ed25519", Bytes: 7},
		{Do: "send", What: v.attack.Send[0]}, {Do: "send", What: "tcp://127.0.0.1:1", Failed: "ECONNREFUSED"},
		{Do: "write", What: v.attack.Write[0]},
	}
	if !slices.Equal(got, want) {
		v.t.Errorf("attempts: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(v.dir, "project/.git/hooks/pre-commit")); err != nil {
		v.t.Error(err)
	}
	if !slices.ContainsFunc(v.site.Requests(), func(q Request) bool { return q.Path == "/-/loot" && strings.Contains(q.Body, "the key") }) {
		v.t.Error("the loot did not arrive")
	}
}
