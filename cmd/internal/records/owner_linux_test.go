package records

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestTakeProjectHome tests that the HOME which an older mcp-jail kept for a project's server is moved
// once, by one of several sessions that start at the same time.
func TestTakeProjectHome(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	at := func(name ...string) string {
		return filepath.Join(append([]string{host.StateDir, ServersDir}, name...)...)
	}
	put := func(text string, name ...string) {
		must(t, os.MkdirAll(filepath.Dir(at(name...)), 0o700))
		must(t, os.WriteFile(at(name...), []byte(text), 0o600))
	}
	take := func() error { return TakeProjectHome(host, "s", "s-1", "home-1") }
	must(t, take()) // there is no former one
	if _, err := os.Lstat(at("s-1", "home")); err == nil {
		t.Fatal("a HOME was made of none")
	}
	for round := range 50 { // the directory is there without a HOME, as when a start was killed
		put("old", "s", "home-1", "data")
		put("the user's", "s", "home", "data")
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() { errs <- take() }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if b, err := os.ReadFile(at("s-1", "home", "data")); err != nil || string(b) != "old" {
			t.Fatalf("round %d: %q, %v", round, b, err)
		}
		if b, _ := os.ReadFile(at("s", "home", "data")); string(b) != "the user's" {
			t.Fatal("the user's own HOME was moved")
		}
		must(t, os.RemoveAll(at("s-1", "home")))
	}
	put("new", "s-1", "home", "data")
	put("old", "s", "home-1", "data")
	must(t, take())
	if b, _ := os.ReadFile(at("s-1", "home", "data")); string(b) != "new" {
		t.Error("the newer HOME was replaced")
	}
}

// TestClaim tests which owner gets the directory of a name that another has had.
func TestClaim(t *testing.T) {
	line := func(program string) Owner { return Owner{Program: program} }
	of := func(program string, files ...string) Owner { return Owner{true, files, program} }
	unknown := func(About) (Owner, bool) { return Owner{}, false }
	for _, c := range []struct {
		name   string
		before []Owner
		now    Owner
		want   error
	}{
		{"new", nil, line("a"), nil},
		{"the same line", []Owner{line("a")}, line("a"), nil},
		{"another line", []Owner{line("a")}, line("b"), ErrOtherOwner},
		{"a line for a configured server", []Owner{of("a")}, line("b"), ErrOtherOwner},
		{"the same program, not configured", []Owner{of("a")}, line("a"), ErrOtherOwner},
		{"moved to the configuration", []Owner{line("a")}, of("a"), nil},
		{"moved, and then another line", []Owner{line("a"), of("a")}, line("a"), ErrOtherOwner},
		{"a configured server after another line", []Owner{line("b")}, of("a"), ErrOtherOwner},
		{"an edited configuration", []Owner{of("a")}, of("b"), nil},
		{"an edited configuration twice", []Owner{of("a"), of("b")}, of("c"), nil},
		{"another file", []Owner{of("a")}, of("b", "/f"), ErrOtherOwner},
		{"another file, the same program", []Owner{of("a")}, of("a", "/f"), nil},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
		for _, o := range c.before {
			must(t, claims(host, o, unknown))
		}
		file := filepath.Join(Path(host, "s"), ownerFile)
		noted, _ := os.ReadFile(file)
		if err := claims(host, c.now, unknown); !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		} else if after, err := os.ReadFile(file); c.want != nil && (err != nil || !slices.Equal(noted, after)) {
			t.Errorf("%s: the owner is now %s, %v", c.name, after, err)
		}
	}
	// A directory of an older mcp-jail has a record of what ran, or nothing.
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, os.MkdirAll(filepath.Join(Path(host, "s"), "home"), 0o700))
	ran := func(About) (Owner, bool) { return line("a"), true }
	if err := claims(host, line("b"), ran); !errors.Is(err, ErrOtherOwner) {
		t.Errorf("of another line before: %v", err)
	}
	must(t, claims(host, line("a"), ran))
	must(t, os.WriteFile(filepath.Join(Path(host, "s"), ownerFile), []byte("{"), 0o600))
	if err := claims(host, line("a"), ran); err == nil || errors.Is(err, ErrOtherOwner) {
		t.Errorf("a broken note: %v", err)
	}
}

// TestClaimAfterNoStart tests that a line whose server never came up leaves its name to a corrected one,
// unless it is of a configuration, has kept something, or runs.
func TestClaimAfterNoStart(t *testing.T) {
	typo, right := Owner{Program: "typo"}, Owner{Program: "right"}
	const up, killed = "up", "killed" // sessions; the others end with a diagnosis of that stage
	early, list, call := string(diagnostics.StageStartup), string(diagnostics.StageList), string(diagnostics.StageCall)
	for _, c := range []struct {
		name        string
		before, now Owner
		sessions    []string
		left        string // in HOME
		runs, calls bool
		want        error
	}{
		{"never up", typo, right, []string{early}, "", false, false, nil},
		{"never executed", typo, right, []string{string(diagnostics.StageExec)}, "", false, false, nil},
		{"never up, three times", typo, right, []string{early, early, early}, "", false, false, nil},
		{"up", typo, right, []string{up}, "", false, false, ErrOtherOwner},
		{"up until a call", typo, right, []string{call}, "", false, false, ErrOtherOwner},
		{"up, and then early", typo, right, []string{early + "," + call}, "", false, false, ErrOtherOwner},
		{"up and then early before", typo, right, []string{early + "," + call, early}, "", false, false, ErrOtherOwner},
		{"up before", typo, right, []string{up, early}, "", false, false, ErrOtherOwner},
		{"up before, after a failure", typo, right, []string{early, up, early}, "", false, false, ErrOtherOwner},
		{"listed before", typo, right, []string{list, early}, "", false, false, ErrOtherOwner},
		{"killed before", typo, right, []string{early, killed, early}, "", false, false, ErrOtherOwner},
		{"killed", typo, right, []string{early, killed}, "", false, false, ErrOtherOwner},
		{"one of its calls not executed", typo, right, []string{early}, "", false, true, ErrOtherOwner},
		{"with something in HOME", typo, right, []string{early}, "token", false, false, ErrOtherOwner},
		{"with links in HOME", typo, right, []string{early}, linked, false, false, nil},
		{"running, with links in HOME", typo, right, []string{early}, linked, true, false, ErrOtherOwner},
		{"running", typo, right, []string{early}, "", true, false, ErrOtherOwner},
		{"of a configuration", Owner{Configured: true, Program: "typo"}, right, []string{early}, "", false, false, ErrOtherOwner},
		{"for a configuration", typo, Owner{Configured: true, Program: "right"}, []string{early}, "", false, false, ErrOtherOwner},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
		unknown := func(About) (Owner, bool) { return Owner{}, false }
		release, err := claim(host, "s", c.before, unknown)
		must(t, err)
		home := filepath.Join(Path(host, "s"), "home")
		must(t, os.Mkdir(home, 0o700))
		if c.left == linked {
			links := []policy.HomeLink{{Path: "notes/a.txt", Target: "/srv/notes/a.txt"}}
			_, unlink, err := homelinks.Home{StateDir: host.StateDir, Server: filepath.Join(ServersDir, "s")}.Link(links)
			must(t, err)
			if !isLink(filepath.Join(home, "notes/a.txt")) {
				t.Fatal("no link was made")
			}
			if !c.runs {
				unlink()
			}
		} else if c.left != "" {
			must(t, os.WriteFile(filepath.Join(home, c.left), nil, 0o600))
		}
		for _, session := range c.sessions {
			endSession(t, host, session, session == up, session == killed, !c.calls)
		}
		if !c.runs {
			release()
		}
		err = claims(host, c.now, unknown)
		if !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if c.runs && c.left == linked && !isLink(filepath.Join(home, "notes/a.txt")) {
			t.Errorf("%s: a session that runs has lost its link", c.name)
		}
		if err != nil && !strings.Contains(err.Error(), "node tpyo.js") {
			t.Errorf("%s: the error does not name the other line: %v", c.name, err)
		}
		if err := claims(host, c.before, unknown); (err == nil) != (c.want != nil) {
			t.Errorf("%s: the first owner comes back: %v", c.name, err)
		}
		release()
	}
}

// endSession leaves what a session of the server s leaves that ended with diagnoses of these stages, or without any,
// or was killed.
func endSession(t *testing.T, host hostfs.Host, stages string, up, killed, stateful bool) {
	t.Helper()
	k := New(host, "s")
	k.About = func() About {
		return About{Command: []string{"node", "tpyo.js"}, Configuration: &Configuration{Stateful: stateful}}
	}
	d, err := makeDir(host, "s")
	must(t, err)
	defer d.Close()
	must(t, k.begin(d))
	r := diagnostics.Record{Version: diagnostics.RecordVersion, Time: time.Now(), Server: "s", Unfinished: true}
	k.Save(r)
	if killed {
		return
	}
	r.Unfinished = false
	if !up {
		for stage := range strings.SplitSeq(stages, ",") {
			r.Diagnoses = append(r.Diagnoses, diagnostics.Diagnosis{Stage: diagnostics.Stage(stage), What: "w"})
			k.Save(r)
		}
	}
	k.Save(r)
}

// linked is what HOME has if it holds only a link that mcp-jail made.
const linked = "a link"

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}

// claims claims the directory of the server s for a moment.
func claims(host hostfs.Host, own Owner, former func(About) (Owner, bool)) error {
	release, err := claim(host, "s", own, former)
	release()
	return err
}

func BenchmarkClaim(b *testing.B) {
	host := hostfs.Host{StateDir: filepath.Join(b.TempDir(), "mcp-jail")}
	for b.Loop() {
		if err := claims(host, Owner{Program: "a"}, func(About) (Owner, bool) { return Owner{}, false }); err != nil {
			b.Fatal(err)
		}
	}
}
