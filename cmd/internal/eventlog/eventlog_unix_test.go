//go:build unix

package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("EVENTLOG_TEST_DIR"); dir != "" {
		j := in(dir)
		for n := range 1000 {
			j.Always("call").Int("n", n).Str("pad", strings.Repeat("x", 400)).Send()
			if n%50 == 0 {
				if err := j.Flush(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}
		for j.lines != nil {
			j.Flush()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func in(dir string) *Log {
	j := New()
	j.Open = func() (*private.Dir, error) { return private.Make(dir, ".") }
	return j
}

type line struct {
	Event   string
	Session string `json:"mcp.session.id"`
	N       int
	Rules   []string
}

// read returns the lines of a directory, each of which must be JSON.
func read(t *testing.T, dir string) (lines []line, broken int) {
	t.Helper()
	d, err := private.Open(dir, ".")
	testkit.Must(t, err)
	defer d.Close()
	all, err := Read(d)
	testkit.Must(t, err)
	for _, text := range all {
		var l line
		if json.Unmarshal(text, &l) != nil {
			broken++
			continue
		}
		lines = append(lines, l)
	}
	return lines, broken
}

// TestManySessions: processes that write to one file lose no line and break none, while the file is rotated.
func TestManySessions(t *testing.T) {
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 20 {
		cmd := exec.Command("/proc/self/exe")
		if self, err := os.Executable(); err == nil {
			cmd.Path = self
		}
		cmd.Env = append(os.Environ(), "EVENTLOG_TEST_DIR="+dir)
		cmd.Stderr = os.Stderr
		testkit.Must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		testkit.Must(t, cmd.Wait())
	}
	lines, broken := read(t, dir)
	if broken > 0 {
		t.Errorf("%d broken lines", broken)
	}
	last := map[string]int{}
	for _, l := range lines {
		if before, known := last[l.Session]; known && l.N != before+1 {
			t.Fatalf("session %s: %d after %d", l.Session, l.N, before)
		}
		last[l.Session] = l.N
	}
	for _, n := range last {
		if n != 999 {
			t.Errorf("a session ends with %d", n)
		}
	}
	for _, name := range []string{File, oldFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		testkit.Must(t, err)
		if info.Size() > maxFile || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), info.Mode())
		}
	}
}

// TestFlood: a session writes no more lines than its bucket has, none is too long, and the rest is counted.
func TestFlood(t *testing.T) {
	dir := t.TempDir()
	j := in(dir)
	const calls = 100_000
	for n := range calls {
		j.Event("call").Int("n", n).Send()
	}
	j.Always("long").Str("text", strings.Repeat("x", maxLine)).Send()
	j.Always("end").Send()
	testkit.Must(t, j.Flush())
	lines, _ := read(t, dir)
	if written := len(lines) - 1; written < burst || written > calls/10 || written+j.Omitted() != calls+1 || lines[written].Event != "end" {
		t.Errorf("%d lines, %d omitted", len(lines), j.Omitted())
	}
}

// TestTexts: a text can be no other event, and has no secret and no character that does not show.
func TestTexts(t *testing.T) {
	j := New()
	j.Redact = func(s string) string { return strings.ReplaceAll(s, "s3cret", "[redacted X]") }
	var got []byte
	j.Report = func(line []byte) bool { got = append(got, line...); return true }
	j.Event("call").Str("tool", j.Text("x\",\"event\":\"grant\n{\u202e\x1b[31ms3cret"+strings.Repeat("é", 200))).Send()
	var is struct{ Event, Tool string }
	testkit.Must(t, json.Unmarshal(got, &is))
	if is.Event != "call" || len(is.Tool) > maxText || bytes.Count(got, []byte{'\n'}) != 1 || bytes.ContainsAny(got, "\u202e\x1b") || strings.Contains(is.Tool, "s3cret") {
		t.Errorf("%s", got)
	}
}

// TestBroken: lines that cannot be written are counted, and what is left of them breaks no later line.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	j := in(dir)
	name := filepath.Join(dir, File)
	testkit.Must(t, os.Mkdir(name, 0o700)) // no file can be opened
	j.Event("lost").Send()
	if j.Flush() == nil || j.Omitted() != 1 {
		t.Errorf("omitted: %d", j.Omitted())
	}
	testkit.Must(t, os.Remove(name))
	testkit.Must(t, os.WriteFile(name, []byte(`{"time":"2026`), 0o600)) // as a full disk leaves it
	for range 2 {
		other := in(dir)
		other.Event("kept").Send()
		testkit.Must(t, other.Flush())
	}
	if lines, broken := read(t, dir); len(lines) != 2 || lines[0].Event != "kept" || broken != 1 {
		t.Errorf("%v, %d broken", lines, broken)
	}
	testkit.Must(t, os.WriteFile(name, []byte(`{"time":"2026{"event":"glued"}`+"\n"), 0o600))
	if lines, broken := read(t, dir); len(lines) != 0 || broken != 1 {
		t.Errorf("%v, %d broken", lines, broken)
	}
}

// TestLocked: lines that others keep from the file wait for the next Flush, before later ones.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	j := in(dir)
	f := testkit.Get(os.Create(filepath.Join(dir, File)))(t)
	testkit.Must(t, private.LockFile(f))
	j.Event("first").Send()
	testkit.Must(t, j.Flush())
	j.Event("second").Send()
	testkit.Must(t, f.Close())
	testkit.Must(t, j.Flush())
	if lines, _ := read(t, dir); len(lines) != 2 || lines[0].Event != "first" || lines[1].Event != "second" || j.Omitted() != 0 {
		t.Errorf("%v, omitted: %d", lines, j.Omitted())
	}
}

// TestManyRules: a grant of many long rules is written down as a whole.
func TestManyRules(t *testing.T) {
	dir := t.TempDir()
	j := in(dir)
	rules := slices.Repeat([]string{strings.Repeat(`"`, maxText)}, 60)
	j.Granted("learn", false, rules, false)
	testkit.Must(t, j.Flush())
	found := 0
	lines, _ := read(t, dir)
	for _, l := range lines {
		found += len(l.Rules)
	}
	if found != len(rules) || j.Omitted() > 0 {
		t.Errorf("%d rules, %d lines omitted", found, j.Omitted())
	}
}
