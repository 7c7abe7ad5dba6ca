package records

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// writesOf returns a policy's rules with a grant of one directory.
func writesOf(server, dir string) []policy.WriterRules {
	return []policy.WriterRules{{Name: server, Rules: map[string]policy.WriteGrant{dir: {Rights: policy.Write, Rule: "--write " + dir}}}}
}

// read returns what the notes say, as SERVER DIR, to the server me, in a configuration that has the
// server "configured".
func read(t *testing.T, host hostfs.Host) string {
	t.Helper()
	rules, err := Writes(host, "me", "here", func(server string) bool { return server == "configured" })
	must(t, err)
	var out []string
	for _, w := range rules {
		for _, dir := range slices.Sorted(maps.Keys(w.Rules)) {
			out = append(out, w.Name+" "+dir)
		}
	}
	return strings.Join(out, ", ")
}

// TestWrites tests which notes a start reads: those of the other servers, as their last starts with
// the same command and workspace wrote them, until they are forgotten.
func TestWrites(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	note := func(server, key string, configured bool, dir string) {
		t.Helper()
		rules := writesOf(server, dir)
		if dir == "" {
			rules = nil
		}
		must(t, NoteWrites(host, server, key, configured, rules))
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, ""},
		{func() { note("a", "x", false, "") }, ""},
		{func() { note("a", "x", false, "/one") }, "a /one"},
		{func() { note("a", "y", false, "/two") }, "a /one, a /two"},
		{func() { note("a", "x", false, "/three") }, "a /three, a /two"},
		{func() { note("a", "y", false, "") }, "a /three"},
		{func() { note("configured", "x", true, "/c") }, "a /three"},
		{func() { note("configured", "y", false, "/d") }, "a /three, configured /d"}, // another server of that name
		{func() { note("me", "here", false, "/e") }, "a /three, configured /d"},
		{func() { note("a.b", "x", false, "/f") }, "a /three, a.b /f, configured /d"},
		{func() { must(t, ForgetWrites(host, "a")) }, "a.b /f, configured /d"},
		{func() { must(t, ForgetWrites(host, "none")) }, "a.b /f, configured /d"},
	} {
		step.do()
		got := strings.Split(read(t, host), ", ")
		for _, w := range strings.Split(step.want, ", ") {
			if !strings.Contains(strings.Join(got, ", "), w) || len(got) != len(strings.Split(step.want, ", ")) {
				t.Fatalf("%q, want %q", got, step.want)
			}
		}
	}
}

// TestWritesUnsafe tests that a note which cannot be read, and a directory by way of a link, are
// errors: what a server may write is then not known.
func TestWritesUnsafe(t *testing.T) {
	dir := t.TempDir()
	host := hostfs.Host{StateDir: filepath.Join(dir, "mcp-jail")}
	must(t, NoteWrites(host, "a", "x", false, writesOf("a", "/one")))
	file := filepath.Join(host.StateDir, writesDir, writesFile)
	must(t, os.WriteFile(file, []byte("[{"), 0o600))
	none := func(string) bool { return false }
	if _, err := Writes(host, "me", "", none); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "where other servers may write") {
		t.Errorf("a broken note: %v", err)
	}
	must(t, os.Rename(filepath.Join(host.StateDir, writesDir), filepath.Join(dir, "elsewhere")))
	must(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(host.StateDir, writesDir)))
	if _, err := Writes(host, "me", "", none); err == nil {
		t.Error("a link was followed")
	}
	if err := NoteWrites(host, "a", "y", false, writesOf("a", "/two")); err == nil {
		t.Error("a note was written by way of a link")
	}
}
