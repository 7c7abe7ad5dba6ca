package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailStartErrors: failures of the program are told from failures of the
// jail, each with its errno.
func TestJailStartErrors(t *testing.T) {
	needsJail(t)
	dir := testkit.Plant(t, "text", "script", "dir/", "plain")
	for name, content := range map[string]string{"text": "no program\n", "script": "#!/nowhere/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/plain", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*policy.Profile)
		step   string
		errno  syscall.Errno
	}{
		{"missing", func(p *policy.Profile) { p.Program = dir + "/missing" }, StepExec, unix.ENOENT},
		{"not executable", func(p *policy.Profile) { p.Program = dir + "/plain" }, StepExec, unix.EACCES},
		{"a directory", func(p *policy.Profile) { p.Program = dir + "/dir" }, StepExec, unix.EACCES},
		{"bad format", func(p *policy.Profile) { p.Program = dir + "/text" }, StepExec, unix.ENOEXEC},
		{"missing interpreter", func(p *policy.Profile) { p.Program = dir + "/script" }, StepExec, unix.ENOENT},
		{"not granted", func(p *policy.Profile) { p.Program = "/etc/hostname" }, StepExec, unix.EACCES},
		{"working directory", func(p *policy.Profile) { p.Dir = dir + "/missing" }, "directory", unix.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := jailProfile(t, grant{dir, rx})
			c.change(p)
			_, err := Launcher{}.Start(t.Context(), p, Stdio{})
			var se *StartError
			if !errors.As(err, &se) || se.Step != c.step || se.Errno != c.errno || !errors.Is(err, c.errno) {
				t.Errorf("%#v (%v), want step %s, %v", err, err, c.step, c.errno)
			} else if !strings.Contains(err.Error(), p.Program) && !strings.Contains(err.Error(), p.Dir) {
				t.Errorf("%q does not say what", err)
			}
		})
	}
	t.Run("no shim", func(t *testing.T) {
		_, err := startBare(t, Launcher{Shim: dir + "/missing"})
		if !errors.Is(err, unix.ENOENT) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a shim that is none", func(t *testing.T) {
		_, err := startBare(t, Launcher{Shim: "/usr/bin/true"})
		var se *StartError
		if !errors.As(err, &se) || se.Step == StepExec {
			t.Errorf("%v", err)
		}
	})
}

// startBare starts a jail without namespaces, of which this program is the init.
func startBare(t *testing.T, l Launcher) (*Process, error) {
	t.Helper()
	plan, err := allGaps.compileOn(jailProfile(t), hostFacts().with(unavailable("for this test", "")))
	if err != nil {
		t.Fatal(err)
	}
	return l.spawnBare().start(t.Context(), plan, Stdio{})
}

func TestJailStartIsCancelled(t *testing.T) {
	needsJail(t)
	mounts := mountinfo(t)
	for i := range 60 {
		pipe := newWitness(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i*150)*time.Microsecond, errors.New("too late"))
		p := jailProfile(t)
		p.Argv = append(p.Argv, probeArgs(t, []attempt{try("wait")})...)
		proc, err := Launcher{}.Start(ctx, p, Stdio{Err: pipe.w})
		cancel()
		if err == nil {
			proc.Kill()
			<-proc.Done()
		} else if se := new(*StartError); !errors.As(err, se) || (*se).Step != "init" || (*se).Detail != "too late" {
			t.Errorf("after %v: %v", time.Duration(i*150)*time.Microsecond, err)
		}
		pipe.gone(t)
	}
	if now := mountinfo(t); now != mounts {
		t.Error("the host's mounts have changed")
	}
}

// TestJailThousand launches a thousand jails, eight at a time, each of which
// looks from inside whether it holds.
func TestJailThousand(t *testing.T) {
	needsJail(t)
	launches := 1000
	if os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		launches = 200 // the second run, as an ordinary user
	}
	needs(t, "seccomp_notify")
	secret := testkit.Plant(t, "secret") + "/secret"
	ws := testkit.Plant(t, "masked", "ro/x", "plain")
	p := jailProfile(t, grant{ws, rw}, grant{ws + "/masked", 0}, grant{ws + "/ro", r})
	p.Unprotected = []string{ws + "/.envrc"}
	p.Limits.OpenFiles = 200
	check := try("verify", secret, fmt.Sprint(os.Getpid()), ws)
	for _, kind := range namespaceKinds {
		ns, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		check = append(check, ns)
	}
	begun := time.Now()
	jobs := make(chan struct{}, launches)
	for range launches {
		jobs <- struct{}{}
	}
	close(jobs)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range jobs {
				out, err := runJail(t, Launcher{}, p, []attempt{check})
				if err != nil || out[0] != succeeded {
					t.Errorf("%v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d launches in %v", launches, time.Since(begun).Round(time.Millisecond))
}

// TestJailPlanOfTheOtherSort: a shim carries no plan out that is for a jail of the
// other sort than its own: steps would be left out that this plan counts on.
func TestJailPlanOfTheOtherSort(t *testing.T) {
	needsJail(t)
	p := jailProfile(t)
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("cwd")})...)
	for _, bare := range []bool{false, true} {
		facts, own, other := hostFacts().with(available("")), shimOwnNet, shimBare
		if bare {
			facts, own, other = hostFacts().with(unavailable("for this test", "")), shimBare, shimOwnNet
		}
		plan, err := allGaps.compileOn(p, facts)
		if err != nil {
			t.Fatal(err)
		}
		if plan.order.Bare != bare {
			t.Fatalf("the plan is bare: %t, want %t", plan.order.Bare, bare)
		}
		_, err = Launcher{}.spawn(other).start(t.Context(), plan, Stdio{})
		var se *StartError
		if !errors.As(err, &se) || se.Step != "order" {
			t.Errorf("bare %t: %#v, want a refusal of the order", bare, err)
		}
		process, err := Launcher{}.spawn(own).start(t.Context(), plan, Stdio{})
		if err != nil {
			t.Errorf("bare %t, by the shim that it is for: %v", bare, err)
			continue
		}
		process.Wait()
	}
}
