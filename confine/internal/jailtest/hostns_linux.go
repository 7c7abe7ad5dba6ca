package jailtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ForbidEnv makes the test binary forbid user namespaces to itself before it runs a test.
// "filter" does it by a seccomp filter, as containers do. "limit" sets user.max_user_namespaces to 0
// in the current user namespace. "few" sets it to 1 and takes the one. The launcher cannot tell such
// a process from a host that forbids them.
const ForbidEnv = "MCPJAIL_TEST_FORBID"

func runForbid(how string) {
	os.Unsetenv(ForbidEnv)
	err := errors.New(ForbidEnv + " has no such way")
	switch how {
	case "filter":
		err = testkit.ExecWithoutNamespaces(append([]string{"/proc/self/exe"}, os.Args[1:]...))
	case "few":
		holder := exec.Command("/usr/bin/sleep", "30")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL}
		if err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("1"), 0); err == nil {
			err = holder.Start()
		}
	case "limit":
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, how, err)
	os.Exit(1)
}

// NeedsHostNS skips a test if this host allows user namespaces.
func NeedsHostNS(t testing.TB) {
	t.Helper()
	if f := kernel.ProbeUserNamespaces(); f.Answer != kernel.No {
		t.Skipf("user namespaces: %v, see TestWithoutNamespaces", f.Answer)
	}
	kerneltest.Needs(t, "landlock", "seccomp")
	testkit.Must(t, MakeDir())
}

// WaivesGaps is a launcher that waives every gap of a jail without namespaces.
var WaivesGaps = confine.Launcher{Waive: []policy.Axis{policy.AxisFs, policy.AxisProcess, policy.AxisLimits}}

// Compile compiles a plan for a host with these facts and waives all of its gaps.
func Compile(p *policy.Profile, host kernel.Facts) *plan.Plan {
	compiled := plan.Compile(p, host, plan.Watching{})
	for i := range compiled.Gaps {
		compiled.Gaps[i].Waived = true
	}
	return compiled
}

// AttemptsHostNS makes the attempts in one jail without namespaces, in this order.
func AttemptsHostNS(t testing.TB, p *policy.Profile, attempts ...attacker.Attempt) []attacker.Outcome {
	t.Helper()
	out, err := Run(t, WaivesGaps, p, attempts)
	testkit.Must(t, err)
	return out
}

// HostNS reports whether HostNSEnv is set: TestEgress set it and forbade user namespaces. Jails
// then start with WaivesGaps.
var HostNS = os.Getenv(HostNSEnv) != ""

const HostNSEnv = "MCPJAIL_TEST_HOSTNS"
