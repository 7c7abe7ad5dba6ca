//go:build darwin || linux

package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// TestFailedIsMadeAgain tests that a result in which something failed is not kept for long, and that a
// start takes it all the same.
func TestFailedIsMadeAgain(t *testing.T) {
	dir, n := t.TempDir(), 0
	o := pass(&n)
	change := o.change
	o.change = func(r *runner) {
		change(r)
		r.perform = scripted{table: r.table, change: func(j job, a *answer) {
			if j.inside {
				clear(a.got)
			}
		}}.perform
	}
	prove := func() {
		t.Helper()
		if r, err := Prove(t.Context(), dir, o); err != nil || len(r.Proof.Failed) == 0 {
			t.Fatalf("%v, %+v", err, r.Proof)
		}
	}
	prove()
	if prove(); n != 1 {
		t.Errorf("control: a fresh failure does not count: %d tests", n)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	s.Made = s.Made.Add(-time.Hour)
	if text, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Cached(dir); !got.Proof.Made || len(got.Proof.Failed) == 0 {
		t.Errorf("a start does not see what failed: %+v", got.Proof)
	}
	if prove(); n != 2 {
		t.Errorf("an old failure counts: %d tests", n)
	}
}

// TestTableHash tests that a result counts for no other files and entries than those it was made with.
func TestTableHash(t *testing.T) {
	for name, list := range map[string]*[]string{"objects": &objects, "entries": &entries, "unprotected": &unprotected, "listed": &listed} {
		before, old := tableHash(), *list
		*list = append([]string{"more"}, old...)
		if tableHash() == before {
			t.Errorf("%s is not in the hash", name)
		}
		*list = old
		if tableHash() != before {
			t.Error("the hash is not always the same")
		}
	}
}

// TestInputs tests that each group has the jail that its probes are about: no other may start no
// program, and only two may reach the proxy.
func TestInputs(t *testing.T) {
	r := testRunner(t)
	trial := &trial{runner: r, hosts: &hosts{proxy: 4711}, inside: treeNames("/t", "/s"), form: seatbelt.Layered, without: []string{"system-info"}}
	for _, g := range []Group{Plain, Hosts, NoFork, Programs, Inbound} {
		in := trial.input(g)
		if in.NoFork != (g == NoFork) || in.Inbound != (g == Inbound) || in.ProxyPort != map[Group]int{Hosts: 4711, Inbound: 4711}[g] {
			t.Errorf("%s: no fork %v, inbound %v, proxy %d", g, in.NoFork, in.Inbound, in.ProxyPort)
		}
		if in.Form != seatbelt.Layered || len(in.Without) != 1 || in.Self != r.self {
			t.Errorf("%s: %+v", g, in)
		}
	}
}

// TestClean tests that only directories of a self-test are removed.
func TestClean(t *testing.T) {
	own, err := private.Make(t.TempDir(), ".")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{other, filepath.Join(shortDir, "mj-"+strconv.Itoa(os.Getuid())+"-x") + "/../.." + other} {
		if err := own.Replace(shortName, []byte(name), private.How{}); err != nil {
			t.Fatal(err)
		}
		if err := clean(own); err == nil {
			t.Errorf("%s, which is not of the self-test, is accepted", name)
		}
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error("it was removed")
	}
}

func TestRemoveOwn(t *testing.T) {
	dir := t.TempDir()
	make := func(name string) string {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		return at
	}
	mine, link, plain := make("mine"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := os.Symlink(make("target"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := []string{link, plain}
	if os.Getuid() == 0 { // no other user can give a directory away
		theirs := make("theirs")
		if err := os.Chown(theirs, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, theirs)
	}
	for _, at := range kept {
		if err := removeOwn(at); err == nil || !strings.Contains(err.Error(), "not the directory of a self-test") {
			t.Errorf("%s: %v", at, err)
		}
		if _, err := os.Lstat(at); err != nil {
			t.Errorf("%s was removed", at)
		}
	}
	for range 2 { // also where it is gone
		if err := removeOwn(mine); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(mine); err == nil {
		t.Error("the directory of the self-test is still there")
	}
}

// TestWaitingSays tests that a program that waits for the test of another says so, and can give up.
func TestWaitingSays(t *testing.T) {
	dir := t.TempDir()
	d, err := private.Make(dir, below)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	unlock, err := d.Lock(private.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	o := pass(&n)
	o.Say = func(s string) {
		if !strings.HasPrefix(s, "waiting for another mcp-jail") {
			t.Errorf("it says %q", s)
		}
		cancel()
	}
	if _, err := Prove(ctx, dir, o); err == nil || n != 0 {
		t.Errorf("%v, %d tests beside another", err, n)
	}
}

// TestPerform tests what a process that makes attempts is given, what is kept of it, and that nothing
// which it has started goes on.
func TestPerform(t *testing.T) {
	t.Setenv("MCP_JAIL_TEST_SECRET", "x")
	pids := filepath.Join(t.TempDir(), "pids")
	const script = `sleep 1000 >/dev/null 2>&1 3>&- & echo $! > "$1"
echo "sandbox-exec: unbound variable: system-info" >&2
echo '{"n":1,"got":"'"${MCP_JAIL_TEST_SECRET-none}"'"}' >&3; exit 65`
	a := perform(t.Context(), job{program: "/bin/sh", args: []string{"-c", script, "sh", pids}, tries: []attempt.Try{{N: 1}}})
	if a.got[1] != "none" {
		t.Errorf("a variable of this program is there: %v", a.got)
	}
	if a.status != statusRefused || unknownOperation(a.said) != "system-info" || a.end == "" {
		t.Errorf("status %d, %q, it said %q", a.status, a.end, a.said)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for running(t, string(text)) && t.Context().Err() == nil {
		time.Sleep(time.Millisecond) // until the signal has arrived
	}
}

// running reports whether a process is there and has not ended.
func running(t *testing.T, text string) bool {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || pid < 2 {
		t.Fatalf("%q is no process: %v", text, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && strings.Contains(string(stat), ") Z") {
		return false
	}
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
