package records

import (
	"fmt"
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

// TestWritesMerged tests that the oldest notes of a server become one, which has all their places,
// and that a start after that is noted by itself again.
func TestWritesMerged(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	for i := range 3 * maxPlaces {
		must(t, NoteWrites(host, "a", "steady", false, writesOf("a", "/steady")))
		key := fmt.Sprint(i)
		must(t, NoteWrites(host, "a", key, false, writesOf("a", "/w"+key)))
	}
	must(t, NoteWrites(host, "a", "steady", false, writesOf("a", "/steady")))
	must(t, NoteWrites(host, "a", "c", true, writesOf("a", "/configured")))
	got := read(t, host) + ", "
	for i := range 3 * maxPlaces {
		if !strings.Contains(got, fmt.Sprintf(" /w%d, ", i)) {
			t.Errorf("/w%d is forgotten: %s", i, got)
		}
	}
	if !strings.Contains(got, "a /steady, ") || !strings.Contains(got, `an earlier start of the server "a" /w1, `) {
		t.Error(got)
	}
	notes, err := readNotes(host)
	if must(t, err); len(notes) != maxPlaces+1 {
		t.Errorf("%d notes, want %d", len(notes), maxPlaces+1)
	}
	// Exceptions of one start are none of another. A configuration says what its server may write.
	exception := writesOf("a", "/w0")
	exception[0].Rules["/w0/kept"] = policy.WriteGrant{Rule: "--deny /w0/kept"}
	must(t, NoteWrites(host, "b", "0", true, exception))
	for i := range maxPlaces {
		must(t, NoteWrites(host, "b", fmt.Sprint(i+1), false, writesOf("b", "/v")))
	}
	for _, isConfigured := range []bool{true, false} {
		rules, err := Writes(host, "me", "", func(server string) bool { return server == "b" && isConfigured })
		must(t, err)
		_, writable := (&policy.Reach{Writers: rules}).Writer("/w0/kept/x", policy.Update)
		if at := slices.IndexFunc(rules, func(w policy.WriterRules) bool { return w.Name == `an earlier start of the server "b"` }); at >= 0 == isConfigured || !writable {
			t.Errorf("configured %t: %v", isConfigured, rules)
		}
	}
	if must(t, ForgetWrites(host, "a")); strings.Contains(read(t, host), "/w1") {
		t.Error("not forgotten")
	}
}

// TestCoverPaths tests that a merged note has few paths, and that they cover all that were noted.
func TestCoverPaths(t *testing.T) {
	grant := func(rights policy.Rights) policy.WriteGrant { return policy.WriteGrant{Rights: rights, Rule: "r"} }
	all := map[string]policy.WriteGrant{"/a": grant(policy.Update), "/a/b": grant(policy.Create), "/a/b/c": grant(policy.Update), "/a-b": grant(policy.Write), "/a/d": grant(policy.Update)}
	if got := fmt.Sprint(slices.Sorted(maps.Keys(coverPaths(maps.Clone(all), 9)))); got != "[/a /a-b /a/b]" {
		t.Error(got)
	}
	for i := range 30 {
		all[fmt.Sprintf("/home/u/src/p%d/out", i)], all[fmt.Sprintf("/home/u/src/q/w%d", i)] = grant(policy.Write), grant(policy.Create)
	}
	for limit, want := range map[int]string{1: "[/]", 2: "[/]", 4: "[/a /a-b /a/b /home/u/src]", 34: ""} {
		rules := coverPaths(maps.Clone(all), limit)
		for p, g := range all {
			for _, p := range []string{p, p + "/x"} {
				if place := (policy.WriterRules{Rules: rules}).Sum(p, nil); g.Rights&^place.Rights != 0 {
					t.Errorf("%d: %s is not covered: %v", limit, p, rules)
				}
			}
		}
		if got := fmt.Sprint(slices.Sorted(maps.Keys(rules))); len(rules) > limit || want != "" && got != want {
			t.Errorf("%d: %s, want %s", limit, got, want)
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
