//go:build darwin || linux

package attempt

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOutcomes tests that an attempt tells what it met.
func TestOutcomes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		do   string
		args []string
		want string
	}{
		{"read", []string{file}, Works},
		{"read", []string{file + "2"}, "ENOENT"},
		{"create", []string{file}, "EEXIST"},
		{"rmdir", []string{file}, "ENOTDIR"},
		{"exec", []string{"/bin/sh", "-c", "exit 7"}, "exit 7"},
		{"exec", []string{"/bin/sh", "-c", "kill -TERM $$"}, "signal SIGTERM"},
		{"exec", []string{file}, "EACCES"},
		{"exec", []string{"/does/not/exist"}, "/does/not/exist does not exist"},
		{"movenew", []string{file, dir}, "the directory could not be made: EEXIST"},
		{"read", nil, "no attempt read with 0 arguments"},
		{"nothing", nil, "no attempt nothing with 0 arguments"},
		{"kill", []string{"-1"}, "no process is named"},
		{"tcp", []string{"{own}"}, "no address is named"},
		{"tcpname", []string{"localhost:1"}, "ECONNREFUSED"},
	} {
		if got := Make(c.do, c.args); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.do, c.args, got, c.want)
		}
	}
}
