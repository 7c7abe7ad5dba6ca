package integration

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailSupervisorCannotPoll: a server that holds all that its user may watch keeps the
// supervisor of its jail from starting. The jail ends, and says why.
func TestJailSupervisorCannotPoll(t *testing.T) {
	jailtest.Needs(t)
	f := fault{call: unix.SYS_EPOLL_CTL, errno: unix.ENOSPC}
	for _, struck := range []bool{false, true} {
		var l confine.Launcher
		if struck {
			l.TestHooks.Steps = f.strike
		}
		dir := testkit.Plant(t)
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}) // of a program that has no need of epoll itself
		p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "mkdir " + dir + "/new; exit 3"}
		var out, errs bytes.Buffer
		proc, wait, err := jailtest.Start(t, l, p, &out, &errs)
		if err != nil {
			t.Fatal(err)
		}
		exit, _ := proc.Wait()
		wait()
		// The calls of a struck one may fail with ENOSYS before it is ended, and it may say so.
		if struck && !strings.Contains(exit.Why, "fs.epoll.max_user_watches") || !struck && (exit != (confine.Exit{Code: 3}) || out.Len()+errs.Len() > 0) {
			t.Errorf("struck %v: %+v, %s%s", struck, exit, out.String(), errs.String())
		}
	}
}
