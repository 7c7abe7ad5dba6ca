package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogFile tests which files openLog refuses because they lead to standard output.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	file, err := os.Create(filepath.Join(dir, "stdout"))
	must(t, err)
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(t, err)
	defer null.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for _, c := range []struct {
		name    string
		log     string
		out     *os.File
		err     *os.File
		refused bool
	}{
		{"the file of standard output", file.Name(), file, null, true},
		{"its name", "/dev/stdout", null, stderr, true},
		{"the name of its descriptor", "/dev/fd/1", null, stderr, true},
		{"a file of both streams", file.Name(), file, file, false},
		{"another file", other, file, null, false},
		{"a device", os.DevNull, null, stderr, false},
	} {
		must(t, os.WriteFile(other, []byte(logBegin), 0o600))
		os.Stdout, os.Stderr = c.out, c.err
		f, err := openLog(c.log)
		if err == nil {
			f.Close()
		}
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestLogBelieved: mcp-jail writes no log into what programs outside of the jail believe, and appends
// to no file that is not a log.
func TestLogBelieved(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(home, "tools"))
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "ZDOTDIR"} {
		t.Setenv(v, "")
	}
	must(t, os.MkdirAll(filepath.Join(home, "project", ".git", "hooks"), 0o700))
	must(t, os.Symlink(filepath.Join(home, "project", ".git"), filepath.Join(home, "project", "link")))
	for name, text := range map[string]string{".bashrc": "# mine\n", "notes": "mine\n", "short": "{", "log": `{"level":"info"}` + "\n", "empty": ""} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	for _, c := range testkit.Table[struct{ log, refused string }](t, "logs.txt") {
		f, err := openLog(filepath.Join(home, c.log))
		if err == nil {
			f.Close()
		}
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.log, err, c.refused)
		}
	}
	for name, want := range map[string]string{".bashrc": "# mine\n", "notes": "mine\n"} {
		if text, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, ".profile")); err == nil {
		t.Error(".profile was made")
	}
}
