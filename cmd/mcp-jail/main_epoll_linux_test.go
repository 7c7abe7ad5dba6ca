package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNoFilesPolled tests that mcp-jail reports when the user has no epoll watches left.
// Without its check Go's runtime would crash.
func TestNoFilesPolled(t *testing.T) {
	mcpJail, err := exec.LookPath(cmdline.Main)
	testkit.Must(t, err)
	for _, c := range []struct {
		args  []string
		works int
	}{
		{[]string{"--version"}, terminal.OK},
		{[]string{"run", "--", "/usr/bin/true"}, terminal.OK},
		{[]string{"plan", "--", "/usr/bin/true"}, terminal.OK},
	} {
		for _, none := range []bool{false, true} {
			name := t.TempDir() + "/said"
			said, err := os.Create(name)
			testkit.Must(t, err)
			cmd := exec.Command(mcpJail, c.args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_CONFIG_HOME="+cmd.Dir)
			cmd.Stderr = said
			done := make(chan error)
			go func() {
				runtime.LockOSThread() // never unlocked, so that the filtered thread ends
				if none {
					if err := refuseWatches(); err != nil {
						done <- err
						return
					}
				}
				done <- cmd.Run()
			}()
			err = <-done
			said.Close()
			b, _ := os.ReadFile(name)
			text := string(b)
			want := c.works
			if none {
				want = terminal.Failure
				if !strings.HasPrefix(text, "mcp-jail: ") || !strings.Contains(text, "fs.epoll.max_user_watches") || strings.Count(text, "\n") != 1 {
					t.Errorf("%q says %q", c.args, text)
				}
			}
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
				t.Errorf("%q, no watch %v: %v, want status %d\n%s", c.args, none, err, want, text)
			}
		}
	}
}

// refuseWatches makes epoll_ctl fail with ENOSPC, as for a user without watches.
func refuseWatches() error {
	return filterThread([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_EPOLL_CTL, SkipFalse: 1},
		bpf.RetConstant{Val: 0x00050000 | uint32(unix.ENOSPC)},
		bpf.RetConstant{Val: 0x7fff0000},
	})
}
