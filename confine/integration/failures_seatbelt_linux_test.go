//go:build seatbelt

package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec/sandboxexectest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// TestSeatbeltFailures: each way in which sandbox-exec fails has its own words, and leaves nothing.
func TestSeatbeltFailures(t *testing.T) {
	jailtest.Needs(t)
	check := leavesNothing(t)
	for how, want := range map[string]struct{ step, words string }{
		"":                          {},
		sandboxexectest.RefuseText:  {sandboxexec.StepApply, "file-flies*"},
		sandboxexectest.RefuseApply: {sandboxexec.StepApply, "another sandbox"},
		sandboxexectest.RefuseExec:  {sandboxexec.StepApply, "cannot start mcp-jail's own program"},
		sandboxexectest.Abort:       {sandboxexec.StepReady, "aborted"},
		sandboxexectest.Silent:      {sandboxexec.StepReady, "status 1"},
		sandboxexectest.Hang:        {"init", "before the deadline"},
	} {
		t.Run("how "+how, func(t *testing.T) {
			t.Setenv(sandboxexectest.HowEnv, how)
			ctx, cancel := context.WithCancel(t.Context())
			if how == sandboxexectest.Hang {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			}
			defer cancel()
			p := jailtest.Profile(t)
			p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
			process, err := confine.Launcher{}.Start(ctx, p, confine.Stdio{})
			if how == "" {
				if err != nil {
					t.Fatal(err)
				}
				process.Kill()
				<-process.Done()
				return
			}
			var failed *confine.StartError
			if !errors.As(err, &failed) || failed.Step != want.step || !strings.Contains(err.Error(), want.words) {
				t.Errorf("%v, want step %q with %q", err, want.step, want.words)
			}
			check()
		})
	}
}

// leavesNothing returns what fails the test if starts leave a profile or a TMPDIR. What a killed launcher
// of an earlier test has left may go: each start removes what is a minute old.
func leavesNothing(t *testing.T) (check func()) {
	find := func() []string {
		profiles, _ := filepath.Glob(jailtest.Dir + "/mcp-jail/run/*")
		return append(profiles, temporary()...)
	}
	before := find()
	return func() {
		t.Helper()
		left := slices.DeleteFunc(find(), func(name string) bool { return slices.Contains(before, name) })
		if len(left) > 0 {
			t.Errorf("left: %v, before: %v", left, before)
		}
	}
}

// TestSeatbeltCanaries: what the profile must refuse is tried before the server starts. Nothing refuses
// it here, so each canary keeps the server from starting.
func TestSeatbeltCanaries(t *testing.T) {
	jailtest.Needs(t)
	check := leavesNothing(t)
	defer func() { confine.Canary = "" }()
	for _, attempt := range []string{spec.CanaryRead, spec.CanaryList, spec.CanaryCreate, spec.CanaryConnect, spec.CanarySignal} {
		confine.Canary = attempt
		p := jailtest.Profile(t)
		started := filepath.Join(t.TempDir(), "started")
		p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "> " + started}
		_, err := confine.Launcher{}.Start(t.Context(), p, confine.Stdio{})
		var failed *confine.StartError
		if !errors.As(err, &failed) || failed.Step != sandboxexec.StepNotEnforced || !strings.Contains(err.Error(), attempt) {
			t.Errorf("%s: %v", attempt, err)
		}
		if _, err := os.Lstat(started); err == nil {
			t.Errorf("%s: the server was started", attempt)
		}
		check()
	}
}
