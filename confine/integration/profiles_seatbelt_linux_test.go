//go:build seatbelt

package integration

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec/sandboxexectest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSeatbeltLeftProfiles: a start removes the profiles of launchers that are gone, and neither that of
// a start that goes on nor anything else.
func TestSeatbeltLeftProfiles(t *testing.T) {
	jailtest.Needs(t)
	run := filepath.Join(jailtest.Dir, "mcp-jail", "run")
	begin := func() {
		t.Helper()
		s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("wait"))
		s.Kill()
		s.Finish()
	}
	begin() // which makes the directory
	here := func(name string) bool { _, err := os.Lstat(filepath.Join(run, name)); return err == nil }
	long := time.Now().Add(-time.Hour)
	age := func(name string) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(run, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	for _, dir := range []string{"left", "empty", "young", "other"} {
		testkit.Must(t, os.Mkdir(filepath.Join(run, dir), 0o700))
		defer os.RemoveAll(filepath.Join(run, dir))
	}
	for _, file := range []string{run + "/left/profile.sb", run + "/young/profile.sb", run + "/other/profile.txt", outside + "/profile.sb"} {
		testkit.Must(t, os.WriteFile(file, nil, 0o600))
	}
	testkit.Must(t, os.Symlink(outside, filepath.Join(run, "link")))
	defer os.Remove(filepath.Join(run, "link"))
	testkit.Must(t, os.Chtimes(outside, long, long))

	// A start that goes on, and is as old.
	before, _ := filepath.Glob(run + "/*/profile.sb")
	t.Setenv(sandboxexectest.HowEnv, sandboxexectest.Hang)
	prepared := confine.Launcher{}.Prepare()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := confine.Launcher{Prepared: prepared}.Start(ctx, jailtest.Profile(t), confine.Stdio{})
		ended <- err
	}()
	var live string
	testkit.Eventually(t, "its profile is there", func() bool {
		all, _ := filepath.Glob(run + "/*/profile.sb")
		for _, file := range all {
			if !slices.Contains(before, file) {
				live = filepath.Base(filepath.Dir(file))
			}
		}
		return live != ""
	})
	for _, name := range []string{"left", "empty", "other", live} {
		age(name)
	}
	t.Setenv(sandboxexectest.HowEnv, "")
	begin()
	for name, want := range map[string]bool{"left": false, "empty": false, "young": true, "other": true, "link": true, live: true} {
		if here(name) != want {
			t.Errorf("%s is there: %t, want %t", name, !want, want)
		}
	}
	if _, err := os.Lstat(outside + "/profile.sb"); err != nil {
		t.Errorf("a link led to it: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a start that was cancelled has no error")
	}
	if here(live) {
		t.Errorf("%s is left of the start that was cancelled", live)
	}
}
