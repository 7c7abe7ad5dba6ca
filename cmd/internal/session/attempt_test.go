package session

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestAttempt tests that lines and flags with which a server would not start are found, for a server
// of a file and for one that the command line declares.
func TestAttempt(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	work := filepath.Join(home, "work")
	for _, dir := range []string{work, filepath.Join(work, "hidden"), filepath.Join(home, "notes")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	for _, name := range []string{"x.sock", "hidden/y.sock"} {
		socket, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
	}
	rule := func(path string, rights ...string) []string {
		return append([]string{"[[servers.s.access.fs]]", "path = " + show.TOML(path)}, rights...)
	}
	all := rule(".", "read = true", "write = true")
	right := rule("~/notes", "read = true")
	broken := rule("x.sock", "read = true", "update = true")
	file := filepath.Join(home, "c.toml")
	load := func(lines ...string) *Target {
		t.Helper()
		text := "version = 1\n[servers.s]\ncommand = \"sh\"\nworkspace = " + show.TOML(work) + "\n" + strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		target, err := Resolve(cmdline.ConfigFlags{Config: []string{file}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	var conflict *policy.ConflictError
	check := func(name string, err error, want func(error) bool) {
		t.Helper()
		if !want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	isNil := func(err error) bool { return err == nil }
	isConflict := func(err error) bool { return errors.As(err, &conflict) }
	isTable := func(err error) bool { return errors.As(err, new(*diagnostics.TableError)) }
	limits := []string{"[servers.s.limits]", "memory_mb = 4096"}

	check("right lines", load(all...).Attempt("", right, nil), isNil)
	check("no rules yet", load().Attempt("", append(all, right...), nil), isNil)
	check("a socket", load(all...).Attempt("", broken, nil), isConflict)
	check("a table of limits", load(append(limits, all...)...).Attempt("", limits, nil), isTable)
	check("a list in one line", load("[servers.s.access]", "fs = []").Attempt("", right, nil), isTable)
	check("such a list, and a conflict", load("[servers.s.access]", `fs = [{ path = ".", read = true, write = true }]`).Attempt("", broken, nil), func(err error) bool { return err != nil && !isTable(err) })
	check("no TOML", load(all...).Attempt("", []string{"path = "}, nil), func(err error) bool { return err != nil && !isTable(err) })
	gone := load(all...)
	if err := os.WriteFile(file, []byte("version ="), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a file that is broken without them", gone.Attempt("", right, nil), isNil)

	given := func(flags cmdline.PolicyFlags) *Target {
		t.Helper()
		target, err := Resolve(cmdline.ConfigFlags{}, flags, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	wide := cmdline.PolicyFlags{Name: "s", Write: []string{"."}}
	check("right flags", given(wide).Attempt("", nil, []string{"--read", "~/notes", "--env", "A", "--limit", "memory_mb=99", "--net", "a.test"}), isNil)
	check("a path without meaning", given(wide).Attempt("", nil, []string{"--read", "x/*"}), func(err error) bool { return err != nil })
	check("a declaration", given(wide).Attempt("", right, nil), isNil)
	check("a declaration with a conflict", given(wide).Attempt("", broken, nil), isConflict)
}

// TestRaisedLimitIsNoNewGap: for a limit that cannot be held, a running mcp-jail finds the same gap with
// each number. So a line that raises the limit makes no new gap.
func TestRaisedLimitIsNoNewGap(t *testing.T) {
	gaps := func(axis policy.Axis, what ...string) error {
		err := &confine.GapError{}
		for _, w := range what {
			err.Gaps = append(err.Gaps, confine.Gap{Axis: axis, What: w})
		}
		return err
	}
	before := gaps(policy.AxisLimits, "processes = 4", "space in TMPDIR")
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"the same", before, false},
		{"a raised limit", gaps(policy.AxisLimits, "processes = 8", "space in TMPDIR"), false},
		{"another limit", gaps(policy.AxisLimits, "memory_mb = 4"), true},
		{"another axis", gaps(policy.AxisFs, "processes = 4"), true},
		{"another error", errors.New("processes = 8"), true},
	} {
		if got := isNew(tt.err, before); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
