package records

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
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

// TestSessionMarker tests that a lost record is reported for its own session, whatever
// other sessions did meanwhile.
func TestSessionMarker(t *testing.T) {
	host := hostfs.Host{StateDir: t.TempDir()}
	m, err := makeDir(host, "s")
	must(t, err)
	defer m.Close()
	file := filepath.Join(Path(host, "s"), markerFile)
	if _, ok := m.Marker(); ok {
		t.Fatal("there is one before the first session")
	}
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if m.saveLoss(time.Now(), full) == nil {
		t.Error("a loss of no session is marked")
	}
	if _, ok := m.Marker(); ok {
		t.Error("a loss makes a mark, of no session")
	}
	m.touch()
	first := time.Now()
	if got, ok := m.Marker(); !ok || got.Cause != "" || got.Time.After(first) || first.Sub(got.Time) > time.Minute {
		t.Errorf("begun: %+v, %v", got, ok)
	}
	size := func() int64 {
		st, err := os.Stat(file)
		testkit.Must(t, err)
		return st.Size()
	}
	if size() != markerSize {
		t.Errorf("%d bytes: a loss would need a block of the disk", size())
	}
	before, _ := m.Marker()
	testkit.Must(t, m.saveLoss(first, full))
	got, _ := m.Marker()
	if got.Cause != "no space left on device" || !got.Time.Equal(before.Time) || got.LastActivity().Before(first) || size() != markerSize {
		t.Errorf("lost: %+v, %d bytes", got, size())
	}

	// A next session has started, and the first one loses its record again.
	time.Sleep(2 * time.Millisecond)
	m.touch()
	next, _ := m.Marker()
	if next.Cause != "" || !next.Time.After(first) {
		t.Errorf("the next: %+v", next)
	}
	testkit.Must(t, m.saveLoss(first, full))
	if got, _ = m.Marker(); got.Cause != "" || !got.Time.Equal(next.Time) {
		t.Errorf("a loss of the session before passes for the next one's: %+v", got)
	}

	if got.Why == "" || !got.Session.Equal(first) {
		t.Errorf("and is no longer known to be its own: %+v", got)
	}
	// The record was written after all.
	if m.clearLoss(); size() != markerSize {
		t.Errorf("%d bytes", size())
	}
	if got, _ = m.Marker(); got.Why != "" || !got.Time.Equal(next.Time) {
		t.Errorf("found: %+v", got)
	}

	// A crash during a write left a partial note.
	testkit.Must(t, os.WriteFile(file, []byte(`{"session":"20`+strings.Repeat(" ", markerSize)), 0o600))
	if got, ok := m.Marker(); !ok || got.Cause != "" || got.Time.IsZero() {
		t.Errorf("torn: %+v, %v", got, ok)
	}
}

// TestRecordWithoutMarker tests that an old record is removed if not even a marker can be
// written. It would be taken for the latest.
func TestRecordWithoutMarker(t *testing.T) {
	for _, begun := range []bool{true, false} {
		host := hostfs.Host{StateDir: t.TempDir()}
		k := New(host, "s")
		k.Save(diagnostics.Record{Server: "s", Time: time.Now()})
		if k.saveErr != nil {
			t.Fatal(k.saveErr)
		}
		d, err := Open(host, "s")
		must(t, err)
		defer d.Close()
		if begun {
			must(t, d.touch())
		}
		d.noteLoss(time.Now(), syscall.ENOSPC)
		if _, err := os.Stat(filepath.Join(Path(host, "s"), lastFile)); (err == nil) != begun {
			t.Errorf("begun %v: the record before: %v", begun, err)
		}
	}
}

// TestRecordIncomplete tests that `why` says when only an earlier state of a record could
// be written, and no longer says so after it was written completely.
func TestRecordIncomplete(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	k := New(host, "s")
	k.MarkStart()
	r := diagnostics.Record{Server: "s", Time: time.Now()}
	why := func() string {
		t.Helper()
		r, err := Load(host, "s")
		testkit.Must(t, err)
		return r.Text(func(diagnostics.Record) string { return "" }, true)
	}
	const incomplete = "The last part of the record could not be written: "
	k.Save(r)
	if got := why(); strings.Contains(got, incomplete) {
		t.Error(got)
	}
	// A limit on the size of files makes writing fail for root, too.
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}))
	long := r
	long.Server = strings.Repeat("s", 2<<20)
	k.Save(long)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	if k.LastError() == nil {
		t.Fatal("it was written")
	}
	if got := why(); !strings.Contains(got, incomplete) || strings.Contains(got, "has no record") {
		t.Error(got)
	}
	if k.Save(r); k.LastError() != nil || strings.Contains(why(), incomplete) {
		t.Errorf("%v, %s", k.LastError(), why())
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
}
