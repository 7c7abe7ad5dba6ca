//go:build seatbelt

package integration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSeatbeltInbound: inbound ports are a gap that must be accepted, since the server can then listen on
// all. It listens on the host's own loopback, and nothing takes a port before it.
func TestSeatbeltInbound(t *testing.T) {
	jailtest.Needs(t)
	port := freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("callback", fmt.Sprint("127.0.0.1:", port), "2")})...)
	_, err := confine.Launcher{}.Start(t.Context(), p, confine.Stdio{})
	var gaps *confine.GapError
	if !errors.As(err, &gaps) || len(gaps.Gaps) != 1 || gaps.Gaps[0].Axis != policy.AxisNet || !strings.Contains(gaps.Gaps[0].What, fmt.Sprint("only the inbound ports ", port)) {
		t.Fatalf("not accepted: %v", err)
	}
	out := &jailtest.Output{}
	proc, wait, err := jailtest.Start(t, confine.Launcher{Waive: []policy.Axis{policy.AxisNet}}, p, out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "listening")
	for _, word := range []string{"one", "two"} {
		if got, err := call(fmt.Sprint("127.0.0.1:", port), word); err != nil || got != "heard "+word {
			t.Errorf("%q, %v", got, err)
		}
	}
	if exit, _ := proc.Wait(); exit != (confine.Exit{}) {
		t.Errorf("%+v", exit)
	}
	wait()
}

// TestSeatbeltEnvironment: a server has the variables of its policy and those of its start. No process of
// the start has a variable of mcp-jail's own.
func TestSeatbeltEnvironment(t *testing.T) {
	jailtest.Needs(t)
	const secret = "withheld-from-all"
	t.Setenv("HOST_TOKEN", secret)
	p := jailtest.Profile(t)
	p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", `tr "\0" "\n" </proc/self/environ; echo .; exec sleep 600`}
	p.Env = []policy.Variable{{Name: "PATH", Value: "/usr/bin:/bin"}, {Name: "TOKEN", Value: "granted", Secret: true}}
	out := &jailtest.Output{}
	proc, _, err := jailtest.Start(t, confine.Launcher{}, p, out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "\n.\n")
	got := strings.Split(strings.TrimSuffix(out.Text, "\n.\n"), "\n")
	if want := proc.Plan().Spec.Env; !slices.Equal(got, want) || !slices.Contains(got, "TOKEN=granted") || strings.Contains(out.Text, secret) {
		t.Errorf("the server has %q, want %q", got, want)
	}
	supervisor, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", proc.PID()))
	if err != nil || strings.Contains(string(supervisor), secret) || !strings.HasPrefix(string(supervisor), "GOMAXPROCS=") {
		t.Errorf("the supervisor has %q: %v", supervisor, err)
	}
	proc.Kill()
	<-proc.Done()
}
