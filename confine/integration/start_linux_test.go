package integration

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

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailStartErrors: a failure of the program and a failure of the jail differ by their step.
// Each has its errno.
func TestJailStartErrors(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "text", "script", "dir/", "plain")
	for name, content := range map[string]string{"text": "no program\n", "script": "#!/nowhere/interpreter\n"} {
		testkit.Must(t, testkit.WriteProgram(filepath.Join(dir, name), []byte(content)))
	}
	testkit.Must(t, os.Chmod(dir+"/plain", 0o644))
	for _, c := range []struct {
		name   string
		change func(*policy.Profile)
		step   string
		errno  syscall.Errno
	}{
		{"missing", func(p *policy.Profile) { p.Program = dir + "/missing" }, sys.Exec, unix.ENOENT},
		{"not executable", func(p *policy.Profile) { p.Program = dir + "/plain" }, sys.Exec, unix.EACCES},
		{"a directory", func(p *policy.Profile) { p.Program = dir + "/dir" }, sys.Exec, unix.EACCES},
		{"bad format", func(p *policy.Profile) { p.Program = dir + "/text" }, sys.Exec, unix.ENOEXEC},
		{"missing interpreter", func(p *policy.Profile) { p.Program = dir + "/script" }, sys.Exec, unix.ENOENT},
		{"not granted", func(p *policy.Profile) { p.Program = "/etc/hostname" }, sys.Exec, unix.EACCES},
		{"working directory", func(p *policy.Profile) { p.Dir = dir + "/missing" }, "directory", unix.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rx})
			c.change(p)
			_, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
			var se *sys.Error
			if !errors.As(err, &se) || se.Step != c.step || se.Errno != c.errno || !errors.Is(err, c.errno) {
				t.Errorf("%#v (%v), want step %s, %v", err, err, c.step, c.errno)
			} else if !strings.Contains(err.Error(), p.Program) && !strings.Contains(err.Error(), p.Dir) {
				t.Errorf("%q does not say what", err)
			}
		})
	}
	t.Run("no supervisor program", func(t *testing.T) {
		err := startBy(t, dir+"/missing")
		testkit.Is(t, "", err, unix.ENOENT)
	})
	t.Run("a supervisor program that is none", func(t *testing.T) {
		err := startBy(t, "/usr/bin/true")
		var se *sys.Error
		if !errors.As(err, &se) || se.Step == sys.Exec {
			t.Errorf("%v", err)
		}
	})
}

// TestBeforeExec: the program is not executed if BeforeExec returns an error, and Start returns
// that error.
func TestBeforeExec(t *testing.T) {
	jailtest.Needs(t)
	refusal := errors.New("the files have changed")
	p := jailtest.Profile(t)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("cwd")})...)
	for name, compiled := range plansOf(t, p) {
		for _, want := range []error{nil, refusal} {
			t.Run(fmt.Sprint(name, " ", want), func(t *testing.T) {
				pipe := newWitness(t)
				written := testkit.Get(os.Create(filepath.Join(t.TempDir(), "written")))(t)
				defer written.Close()
				called := 0
				l := confine.Launcher{BeforeExec: func(context.Context) error { called++; return want }}
				proc, err := l.StartPlan(t.Context(), compiled, jail.Stdio{Out: written, Err: pipe.w})
				if err == nil {
					<-proc.Done()
				}
				pipe.gone(t)
				text, _ := os.ReadFile(written.Name())
				if err != want || len(text) > 0 != (want == nil) || called != 1 {
					t.Errorf("%v, wrote %q, called %d times", err, text, called)
				}
			})
		}
	}
}

// plansOf returns the plans of a profile for the kinds of jail that start here, by their names.
func plansOf(t *testing.T, p *policy.Profile) map[string]*plan.Plan {
	t.Helper()
	return map[string]*plan.Plan{
		"namespaces":      jailtest.Compile(p, kernel.Detect()),
		"host namespaces": jailtest.Compile(p, kernel.Detect().WithUserNS(kernel.Unavailable("for this test", ""))),
	}
}

// startBy returns the error of a start with another program as the supervisor. A jail with namespaces
// has none before it is built.
func startBy(t *testing.T, supervisor string) error {
	t.Helper()
	_, err := confine.Launcher{SupervisorPath: supervisor}.StartPlan(t.Context(), plansOf(t, jailtest.Profile(t))["host namespaces"], jail.Stdio{})
	return err
}

func TestJailStartIsCancelled(t *testing.T) {
	jailtest.Needs(t)
	mounts := jailtest.Mountinfo(t)
	rounds := jailtest.Rounds(15, 60)
	for i := range rounds { // up to 9 ms, within which a jail is up
		moment := time.Duration(i) * 9 * time.Millisecond / time.Duration(rounds)
		pipe := newWitness(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), moment, errors.New("too late"))
		p := jailtest.Profile(t)
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
		proc, err := confine.Launcher{}.Start(ctx, p, jail.Stdio{Err: pipe.w})
		cancel()
		if err == nil {
			proc.Kill()
			<-proc.Done()
		} else if se := new(*sys.Error); !errors.As(err, se) || (*se).Step != "init" || (*se).Detail != "too late" {
			t.Errorf("after %v: %v", moment, err)
		}
		pipe.gone(t)
	}
	testkit.Equal(t, "the host's mounts ", jailtest.Mountinfo(t), mounts)
}

// TestJailThousand: a thousand jails start, eight at a time; in the short form a hundred. In
// each of them the attacker checks from inside that the jail holds.
func TestJailThousand(t *testing.T) {
	jailtest.Needs(t)
	launches := jailtest.Rounds(100, 1000)
	kerneltest.Needs(t, "seccomp_notify")
	secret := testkit.Plant(t, "secret") + "/secret"
	ws := testkit.Plant(t, "masked", "ro/x", "plain")
	p := jailtest.Profile(t, jailtest.Grant{Path: ws, Rights: rw}, jailtest.Grant{Path: ws + "/masked", Rights: 0}, jailtest.Grant{Path: ws + "/ro", Rights: r})
	p.Unprotected = []string{ws + "/.envrc"}
	p.Limits.OpenFiles = 200
	check := attacker.Try("verify", secret, fmt.Sprint(os.Getpid()), ws)
	for _, kind := range attacker.NamespaceKinds {
		ns := testkit.Get(os.Readlink("/proc/self/ns/" + kind))(t)
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
				out, err := jailtest.Run(t, confine.Launcher{}, p, []attacker.Attempt{check})
				if err != nil || out[0] != attacker.Succeeded {
					t.Errorf("%v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d launches in %v", launches, time.Since(begun).Round(time.Millisecond))
}

// TestSpecCannotBeSent: if the kernel refuses to pass the server's descriptors, the start fails
// and does not wait.
func TestSpecCannotBeSent(t *testing.T) {
	jailtest.Needs(t)
	closed := testkit.Get(os.Open(os.DevNull))(t)
	closed.Close()
	for _, size := range []int{0, 1 << 20} {
		p := jailtest.Profile(t)
		p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
		for kind, plan := range plansOf(t, p) {
			jailtest.Within(t, "the end of the start", func() {
				_, err := confine.Launcher{}.StartPlan(t.Context(), plan, jail.Stdio{Out: closed})
				var se *sys.Error
				if !errors.As(err, &se) || se.Step != sys.Spec || se.Errno != unix.EBADF {
					t.Errorf("%s, %d bytes: %v", kind, size, err)
				}
			})
		}
	}
}
