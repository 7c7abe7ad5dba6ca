package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// follower is a running `mcp-jail why --follow`.
type follower struct {
	cmd    *exec.Cmd
	stdout lockedBuffer
	stderr lockedBuffer
}

func (w *world) follow(t *testing.T, args ...string) *follower {
	t.Helper()
	f := &follower{cmd: w.mcpJail(append([]string{"why", "--follow"}, args...)...)}
	f.cmd.Stdout, f.cmd.Stderr = &f.stdout, &f.stderr
	must(t, f.cmd.Start())
	t.Cleanup(func() {
		f.cmd.Process.Kill()
		f.cmd.Wait()
	})
	return f
}

// end sends a signal, and waits for the end.
func (f *follower) end(t *testing.T, s os.Signal) syscall.WaitStatus {
	t.Helper()
	must(t, f.cmd.Process.Signal(s))
	f.cmd.Wait()
	return f.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// refusedServer is a server that ignores what its calls are refused: the tool is the name of a file in the
// directory OTHER.
const refusedServer = `echo started >&2
while read -r line; do
  case $line in
    *tools/call*) name=${line#*\"name\":\"}; name=${name%%\"*}; (: >"OTHER/$name") 2>/dev/null ;;
    *\"id\"*) ;;
    *) continue ;;
  esac
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[],\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"
done`

func (w *world) refusedSession(t *testing.T, name string) *clientSession {
	t.Helper()
	w.plant(t, w.base, map[string]string{"other/": ""})
	s := start(t, w.jail("--read", w.work, "--name", name, "--", "sh", "-c", "# "+w.base+"/\n"+strings.ReplaceAll(refusedServer, "OTHER", w.base+"/other")))
	s.initialize(map[string]any{})
	return s
}

// TestWhyFollow: `why --follow` shows the refusals of sessions that began before it and after it, each
// with its server and with the words of `why`. What is repeated is counted. Ctrl-C ends it with status 0,
// and nothing is lost. The JSON form has an object a line.
func TestWhyFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.refusedSession(t, "before")
	all, one, machine := w.follow(t), w.follow(t, "after"), w.follow(t, "--format", "json")
	followers := []*follower{all, one, machine}
	// They are ready when they have shown a refusal.
	after := w.refusedSession(t, "after")
	testkit.Eventually(t, "the followers are ready", func() bool {
		after.tool("ready", map[string]any{})
		return !slices.ContainsFunc(followers, func(f *follower) bool {
			return !strings.Contains(f.stdout.String(), `call of "ready"`) && !strings.Contains(f.stdout.String(), `"tool":"ready"`)
		})
	})
	const calls = 5
	for range calls {
		before.tool("before", map[string]any{})
		after.tool("after", map[string]any{})
	}
	testkit.Eventually(t, "both sessions are told", func() bool {
		return strings.Contains(all.stdout.String(), `call of "before"`) && strings.Contains(all.stdout.String(), `call of "after"`)
	})
	before.close()
	after.close()
	for _, f := range followers {
		if status := f.end(t, os.Interrupt); status != 0 {
			t.Errorf("%v: %v, %s", f.cmd.Args, status, &f.stderr)
		}
	}
	for _, part := range []string{
		"  before\nthe jail refused something during the call of \"before\" of server \"before\"\n  cause (certain): ",
		"  after\nthe jail refused something during the call of \"after\" of server \"after\"\n  cause (certain): ",
		"more: mcp-jail explain fs-",
	} {
		if !strings.Contains(all.stdout.String(), part) {
			t.Errorf("%q is not in\n%s", part, &all.stdout)
		}
	}
	if n := strings.Count(all.stdout.String(), "the call of \"before\" of server \"before\"\n"); n != 1 {
		t.Errorf("it is printed in full %d times", n)
	}
	if text := one.stdout.String(); strings.Contains(text, "before") || !strings.Contains(text, `call of "after"`) {
		t.Errorf("after alone: %s", text)
	}
	count := map[string]int{}
	for line := range strings.Lines(machine.stdout.String()) {
		var r struct {
			Server, Tool, What, Cause string
			Count                     int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Cause == "" || r.What == "" {
			t.Fatalf("%s: %v", line, err)
		}
		count[r.Server+" "+r.Tool] += r.Count
	}
	if count["before before"] != calls || count["after after"] != calls {
		t.Errorf("counted: %v\n%s", count, &machine.stdout)
	}
}

// TestWhyFollowWaits: `why --follow` of a server that has not run waits for it. A usual signal to end it
// has the usual status.
func TestWhyFollowWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.follow(t, "later")
	testkit.Eventually(t, "it waits", func() bool { return strings.Contains(f.stderr.String(), "waiting for its first session") })
	s := w.refusedSession(t, "later")
	testkit.Eventually(t, "it is told", func() bool {
		s.tool("x", map[string]any{})
		return strings.Contains(f.stdout.String(), `call of "x"`)
	})
	s.close()
	if status := f.end(t, syscall.SIGTERM); status.ExitStatus() != 128+15 {
		t.Errorf("%v", status)
	}
	if said, err := w.mcpJail("why", "--follow", "--list").CombinedOutput(); err == nil || !strings.Contains(string(said), "leave one out") {
		t.Errorf("%v: %s", err, said)
	}
}
