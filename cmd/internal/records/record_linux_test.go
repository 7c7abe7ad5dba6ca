package records

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRecordPlanted tests that a symbolic link below the state directory neither
// redirects the writing of a record or marker nor provides a record to read.
func TestRecordPlanted(t *testing.T) {
	for _, planted := range []string{"servers", "servers/s", "servers/s/begun", "servers/s/last.json"} {
		t.Run(planted, func(t *testing.T) {
			state, elsewhere := t.TempDir(), t.TempDir()
			host := hostfs.Host{StateDir: state}
			victims := []string{"begun", "last.json", "s/begun", "s/last.json"}
			for _, v := range append(victims, "file") {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, v)), 0o700))
				must(t, os.WriteFile(filepath.Join(elsewhere, v), []byte(v), 0o600))
			}
			target := elsewhere
			if base := filepath.Base(planted); base != "s" && base != "servers" {
				target = filepath.Join(elsewhere, base)
			}
			must(t, os.MkdirAll(filepath.Join(state, filepath.Dir(planted)), 0o700))
			must(t, os.Symlink(target, filepath.Join(state, planted)))
			k := New(host, "s")
			k.MarkStart()
			k.Save(diagnostics.Record{Server: "s", Time: time.Now()})
			if err := k.LastError(); err == nil || !strings.Contains(err.Error(), filepath.Join(state, planted)) || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("lost: %v", err)
			}
			for _, v := range victims {
				if b, err := os.ReadFile(filepath.Join(elsewhere, v)); err != nil || string(b) != v {
					t.Errorf("%s was overwritten: %q, %v", v, b, err)
				}
			}
			r := diagnostics.Record{Server: "s", Time: time.Now()}
			b, err := r.Encode()
			must(t, err)
			for _, v := range []string{"last.json", "s/last.json"} {
				must(t, os.WriteFile(filepath.Join(elsewhere, v), b, 0o600))
			}
			if _, ok := Reader(host, "s")(); ok {
				t.Error("a planted record is believed")
			}
		})
	}
}

var must = testkit.Must

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
		must(t, NoteWrites(host, server, key, configured, rules, nil))
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

// TestNotesTogether: a start that notes something keeps what another one has noted since it looked.
func TestNotesTogether(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, NoteWrites(host, "a", "x", false, writesOf("a", "/one"), nil))
	looked := false
	must(t, changeNotes(host, func(notes []note) []note {
		if !looked { // no lock is held yet
			looked = true
			must(t, NoteWrites(host, "b", "x", false, writesOf("b", "/two"), nil))
		}
		return append(slices.Clone(notes), note{Server: "c", Writes: writesOf("c", "/three")})
	}))
	testkit.Equal(t, "the notes", read(t, host), "a /one, b /two, c /three")
}

// TestWritesUnsafe tests that a note which cannot be read, and a directory by way of a link, are
// errors: what a server may write is then not known.
func TestWritesUnsafe(t *testing.T) {
	dir := t.TempDir()
	host := hostfs.Host{StateDir: filepath.Join(dir, "mcp-jail")}
	must(t, NoteWrites(host, "a", "x", false, writesOf("a", "/one"), nil))
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
	if err := NoteWrites(host, "a", "y", false, writesOf("a", "/two"), nil); err == nil {
		t.Error("a note was written by way of a link")
	}
}

// TestAbout tests that the About is written as soon as the client is known, that a session
// without a client keeps the client of the session before, and that nothing is written if nothing
// has changed.
func TestAbout(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	session := func(version string) *Recorder {
		k := New(host, "s")
		k.About = func() About {
			return About{Command: []string{"npx", "-y", "p"}, Package: &Package{"npm", "p@latest", "p", version}}
		}
		k.MarkStart()
		return k
	}
	want := About{Command: []string{"npx", "-y", "p"}, Package: &Package{"npm", "p@latest", "p", "1.0"}, Client: Client{"code", "2.1"}}
	session("1.0").ClientNamed("code", "2.1")
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, want) {
		t.Errorf("after the handshake: %+v", got)
	}
	file := filepath.Join(Path(host, "s"), aboutFile)
	before, err := os.Stat(file)
	must(t, err)
	session("1.0").Save(diagnostics.Record{Server: "s", Time: time.Now()})
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same is written again: %v", err)
	}
	session("1.1").Save(diagnostics.Record{Server: "s", Time: time.Now()})
	want.Package.Version = "1.1"
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, want) {
		t.Errorf("after a session of no client: %+v", got)
	}
	session("1.1").ClientNamed(strings.Repeat("x", 9999), "1")
	if got := ReadAbout(host, "s").Client; len(got.Name) != maxClientText {
		t.Errorf("a name of %d bytes", len(got.Name))
	}
	must(t, os.WriteFile(file, []byte(`{"command": 7`), 0o600))
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, About{}) {
		t.Errorf("of a broken file: %+v", got)
	}
}

// TestLock tests that the directory of a server is held from the start of a session, by
// several sessions at once.
func TestLock(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, os.MkdirAll(Path(host, "s"), 0o700))
	d, err := Open(host, "s")
	must(t, err)
	defer d.Close()
	if d.Running() {
		t.Error("a server without a session runs")
	}
	if unlock, free := d.Lock(); !free {
		t.Error("held by no session")
	} else {
		unlock()
	}
	New(host, "s").MarkStart()
	New(host, "s").MarkStart()
	if _, free := d.Lock(); free || !d.Running() {
		t.Error("not held by two sessions")
	}
	if err := Rename(host, "s", "other"); err == nil || !strings.Contains(err.Error(), "a session uses the HOME") || !d.Running() {
		t.Errorf("moved while sessions have it: %v", err)
	}
	must(t, TakeHome(host, "begun"))
	begun := testkit.Get(Open(host, "begun"))(t)
	defer begun.Close()
	if !begun.Running() {
		t.Error("not held by a start that has made no record yet")
	}
}

// TestPrograms tests that programs are noted apart from what a server may write, and go with it.
func TestPrograms(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, NoteWrites(host, "a", "x", false, writesOf("a", "/one"), nil))
	first := Programs{}.With(map[string]string{"sh": "/bin/sh"}, nil)
	must(t, NotePrograms(host, "a", first))
	must(t, NoteWrites(host, "a", "x", false, writesOf("a", "/two"), nil))
	next := first.With(map[string]string{"sh": "/w/sh", "env": "/bin/env"}, func(file string) bool { return file == "/bin/sh" })
	for name, want := range map[string][]string{"sh": {"/w/sh", "/bin/sh"}, "env": {"/bin/env"}} {
		testkit.Equal(t, name, next.Taken[name], want)
	}
	testkit.Equal(t, "what is not kept", next.With(map[string]string{"sh": "/w/sh"}, func(string) bool { return false }).Taken["sh"], []string{"/w/sh"})
	got, err := ProgramsOf(host, "a")
	must(t, err)
	testkit.Equal(t, "noted", got, first)
	testkit.Equal(t, "writes", read(t, host), "a /two")
	must(t, ForgetWrites(host, "a"))
	if got, err = ProgramsOf(host, "a"); err != nil || got.Taken != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestStarts tests that what servers are started from is noted beside where they may write, and that what never was is
// noted anew as a whole.
func TestStarts(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	from := func(key, program string) policy.Started {
		return policy.Started{Key: key, Name: key, Program: program, Parts: []policy.Part{{Path: program + ".d", Work: true}}}
	}
	start := func(key, at, program string, rules []policy.WriterRules) {
		t.Helper()
		s := from(key, program)
		must(t, NoteWrites(host, key, at, true, rules, &s))
	}
	first := Programs{}.With(map[string]string{"sh": "/bin/sh"}, nil)
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { start("a", "x", "/a/1", writesOf("a", "/one")) }, "a /a/1 1"},
		{func() { start("a", "x", "/a/2", nil) }, "a /a/2 0"},
		{func() { start("a", "y", "/a/3", nil) }, "a /a/2 0, a /a/3 0"},
		{func() { start("me", "x", "/me", nil) }, "a /a/2 0, a /a/3 0"},
		{func() { must(t, NoteListed(host, []policy.Started{from("", "/b"), from("c", "/c")})) }, "a /a/2 0, a /a/3 0,  /b 0 listed, c /c 0 listed"},
		{func() { must(t, NotePrograms(host, "c", first)) }, "a /a/2 0, a /a/3 0,  /b 0 listed, c /c 0 listed"},
		{func() { must(t, NoteListed(host, []policy.Started{from("c", "/d")})) }, "a /a/2 0, a /a/3 0, c /d 0 listed"},
		{func() { must(t, ForgetWrites(host, "a")) }, "c /d 0 listed"},
		{func() { must(t, NoteListed(host, nil)) }, ""},
	} {
		step.do()
		all, err := Starts(host, "me")
		must(t, err)
		var got []string
		for _, s := range all {
			text := fmt.Sprintf("%s %s %d", s.Key, s.Program, len(s.Writes))
			if s.Listed {
				text += " listed"
			}
			got = append(got, text)
			testkit.Equal(t, "the parts", s.Parts, []policy.Part{{Path: s.Program + ".d", Work: true}})
		}
		testkit.Equal(t, "noted", strings.Join(got, ", "), step.want)
	}
	programs, err := ProgramsOf(host, "c")
	must(t, err)
	testkit.Equal(t, "programs", programs, first)
}
