package records

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	of := func(program string, files ...string) Owner {
		return Owner{Configured: true, Files: files, Program: program}
	}
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
		{"code of a directory", []Owner{{Configured: true, Program: "a", Dir: "/p"}}, Owner{Configured: true, Program: "b", Dir: "/p"}, nil},
		{"code of another directory", []Owner{{Configured: true, Program: "a", Dir: "/p"}}, Owner{Configured: true, Program: "b", Dir: "/q"}, ErrOtherOwner},
		{"code of no directory after that of one", []Owner{{Configured: true, Program: "a", Dir: "/p"}}, of("b"), ErrOtherOwner},
		{"code of a directory after that of none", []Owner{of("a")}, Owner{Configured: true, Program: "b", Dir: "/p"}, nil},
		{"another file, the same program", []Owner{of("a")}, of("a", "/f"), nil},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
		for _, o := range c.before {
			answered, release, err := claim(host, "s", o, unknown)
			must(t, err)
			if answered != nil {
				answered()
			}
			release()
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

// TestClaimUnanswered tests that a command line whose server has never answered leaves its name to the next
// owner, which gets an empty HOME, unless a session runs.
func TestClaimUnanswered(t *testing.T) {
	typo, right := Owner{Program: "typo"}, Owner{Program: "right"}
	of := func(program string) Owner { return Owner{Configured: true, Program: program} }
	for _, c := range []struct {
		name          string
		before, now   Owner
		answers, runs bool
		want          error
	}{
		{"a corrected line", typo, right, false, false, nil},
		{"the same line", typo, typo, false, false, nil},
		{"for a configuration", typo, of("right"), false, false, nil},
		{"answered", typo, right, true, false, ErrOtherOwner},
		{"answered, for a configuration", typo, of("right"), true, false, ErrOtherOwner},
		{"running", typo, right, false, true, ErrOtherOwner},
		{"the same line, running", typo, typo, false, true, nil},
		{"of a configuration", of("typo"), right, false, false, ErrOtherOwner},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
		answered, release, err := claim(host, "s", c.before, unknown)
		must(t, err)
		planted := filepath.Join(Path(host, "s"), "home", "closed", "file")
		must(t, os.MkdirAll(filepath.Dir(planted), 0o700))
		must(t, os.WriteFile(planted, nil, 0o600))
		must(t, os.Chmod(filepath.Dir(planted), 0o500))
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(planted), 0o700) }) // else an ordinary user cannot remove it
		if (answered == nil) != c.before.Configured {
			t.Fatalf("%s: an answer is noted: %t", c.name, answered != nil)
		}
		if c.answers {
			answered()
		}
		if !c.runs {
			release()
		}
		err = claims(host, c.now, unknown)
		if !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if _, err := os.Lstat(planted); (err == nil) != (c.want != nil || c.now.Program == c.before.Program) {
			t.Errorf("%s: what was in HOME: %v", c.name, err)
		}
		if err := claims(host, c.before, unknown); (err == nil) != (c.want != nil || !c.now.Configured) {
			t.Errorf("%s: the first owner comes back: %v", c.name, err)
		}
		if other := (*OtherOwnerError)(nil); errors.As(err, &other) && strings.Contains(other.Fix(false), "mcp-jail rm s") == c.runs {
			t.Errorf("%s: %q, %q", c.name, other, other.Fix(false))
		}
		release()
	}
}

// TestClaimTurns tests that of lines without an answer that start at the same time again and again, no
// session loses its HOME.
func TestClaimTurns(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	home := filepath.Join(Path(host, "s"), "home")
	var wait sync.WaitGroup
	for i, program := range []string{"a", "a", "b", "b"} {
		file := filepath.Join(home, strconv.Itoa(i))
		wait.Go(func() {
			for range 10 {
				_, release, err := claim(host, "s", Owner{Program: program}, unknown)
				if err == nil {
					_ = os.Mkdir(home, 0o700)
					if err := os.WriteFile(file, nil, 0o600); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
					if _, err := os.Lstat(file); err != nil {
						t.Error(err)
					}
				} else if !errors.Is(err, ErrOtherOwner) {
					t.Error(err)
				}
				release()
			}
		})
	}
	wait.Wait()
}

// TestIsElsewhere tests which directories have a HOME of their own under a name.
func TestIsElsewhere(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	is := func(when, dir string, want bool) {
		t.Helper()
		if got := IsElsewhere(host, "s", dir); got != want {
			t.Errorf("%s: the code of %s has a HOME of its own: %t", when, dir, got)
		}
	}
	is("at first", "/p", false)
	must(t, claims(host, Owner{Program: "a", Dir: "/p"}, unknown))
	is("after /p", "/p", false)
	is("after /p", "/q", true)
	own := policy.KeptName("s", "/q")
	_, release, err := claim(host, own, Owner{Program: "b", Dir: "/q"}, unknown)
	must(t, err)
	release()
	must(t, os.RemoveAll(Path(host, "s")))
	is("after its removal", "/p", false)
	is("after its removal", "/q", true)
	if KeptIn(host, "s", "/q") != own || KeptIn(host, "s", "/p") != "s" || KeptIn(host, "s", "") != "s" {
		t.Error("KeptIn differs")
	}
	must(t, claims(host, Owner{Program: "a"}, unknown))
	is("after a line without a directory", "/p", false)
}

// TestClaimDuringRemoval tests that a start which waits for the end of a removal makes the directory again.
func TestClaimDuringRemoval(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	d, err := makeDir(host, "s")
	must(t, err)
	defer d.Close()
	unlock, free := d.Lock()
	if !free {
		t.Fatal("the directory is held by no session")
	}
	ended := make(chan error)
	go func() { ended <- claims(host, Owner{Program: "a"}, unknown) }()
	time.Sleep(20 * time.Millisecond) // most often it waits by now
	must(t, os.Rename(Path(host, "s"), filepath.Join(host.StateDir, "removed")))
	unlock()
	must(t, <-ended)
	if _, err := os.Lstat(filepath.Join(Path(host, "s"), ownerFile)); err != nil {
		t.Error(err)
	}
}

func unknown(About) (Owner, bool) { return Owner{}, false }

// claims claims the directory of the server s for a moment.
func claims(host hostfs.Host, own Owner, former func(About) (Owner, bool)) error {
	_, release, err := claim(host, "s", own, former)
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
