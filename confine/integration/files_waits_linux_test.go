package integration

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediator"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailBlockedCallsDelayNoOthers: calls that wait for a lease or a fifo of the host delay no
// other call of the jail, however many of them wait.
func TestJailBlockedCallsDelayNoOthers(t *testing.T) {
	jailtest.Needs(t)
	testLeased(t)
	testFifos(t)
	testSwapped(t)
}

// TestHostNSBlockedCallsDelayNoOthers is the same without namespaces.
func TestHostNSBlockedCallsDelayNoOthers(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testLeased(t)
	testFifos(t)
	testSwapped(t)
}

// blocked are as many calls as there are workers, and one more.
const blocked = mediator.MaxWorkers + 1

func heldNames() []string {
	var names []string
	for i := range blocked {
		names = append(names, fmt.Sprint("held/", i))
	}
	return names
}

// testBlocked: calls wait for something of the host's, which block makes. waits reports that all of them do.
func testBlocked(t *testing.T, name string, block func(t *testing.T, dir string) (waits func() bool, release func())) {
	t.Run(name, func(t *testing.T) {
		run := func(begin func(*testing.T, string, attacker.Attempt) func() attacker.Outcome) attacker.Outcome {
			dir := testkit.Plant(t, "held/", "old")
			waits, release := block(t, dir)
			finish := begin(t, dir, attacker.Try("blocked-opens", dir))
			testkit.Eventually(t, "all of them wait", waits)
			letPass(t, dir, release)
			return finish()
		}
		want := fmt.Sprint("ok ", blocked)
		jailtest.Expect(t, "unconfined", run(inBackground), want)
		jailtest.Expect(t, "in the jail", run(jailBegun), want)
	})
}

// testLeased: the host holds leases on files that the server opens for writing.
func testLeased(t *testing.T) {
	signal.Ignore(unix.SIGIO) // what the kernel asks for them back by
	testBlocked(t, "leases", func(t *testing.T, dir string) (func() bool, func()) {
		var leased []*os.File
		for _, name := range heldNames() {
			f := testkit.Get(os.OpenFile(dir+"/"+name, os.O_RDONLY|os.O_CREATE, 0o666))(t)
			t.Cleanup(func() { f.Close() })
			testkit.Must(t, testkit.ErrorOf(unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)))
			leased = append(leased, f)
		}
		askedBack := func() bool {
			return !slices.ContainsFunc(leased, func(f *os.File) bool {
				kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
				return err != nil || kind != unix.F_UNLCK
			})
		}
		return askedBack, func() {
			for _, f := range leased {
				if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
					t.Errorf("the lease was taken meanwhile: %v", err)
				}
			}
		}
	})
}

// testFifos: the server opens fifos for writing, and no process opens them for reading.
func testFifos(t *testing.T) {
	testBlocked(t, "fifos", func(t *testing.T, dir string) (func() bool, func()) {
		for _, name := range heldNames() {
			testkit.Must(t, unix.Mkfifo(dir+"/"+name, 0o666))
		}
		return func() bool { return true }, func() {
			for _, name := range heldNames() {
				f := testkit.Get(os.OpenFile(dir+"/"+name, os.O_RDONLY|unix.O_NONBLOCK, 0))(t)
				t.Cleanup(func() { f.Close() })
			}
		}
	})
}

// letPass tells the server to make its other calls, and calls release when it has made them.
func letPass(t *testing.T, dir string, release func()) {
	t.Helper()
	testkit.Must(t, os.WriteFile(dir+"/wait", nil, 0o644))
	testkit.Eventually(t, "the other calls have passed", func() bool { _, err := os.Lstat(dir + "/passed"); return err == nil })
	release()
}

// testSwapped: the host puts a fifo in the place of a file, now and then.
func testSwapped(t *testing.T) {
	t.Run("swapped", func(t *testing.T) {
		dir := testkit.Plant(t, "swapped", "old", "aside/")
		fifo := dir + "/aside/fifo"
		testkit.Must(t, unix.Mkfifo(fifo, 0o666))
		var over atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !over.Load() {
				unix.Renameat2(unix.AT_FDCWD, dir+"/swapped", unix.AT_FDCWD, fifo, unix.RENAME_EXCHANGE)
			}
		}()
		defer func() { over.Store(true); <-done }()
		jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("swapped-opens", dir))[0], "ok passed")
		jailtest.Expect(t, "in the jail", jailBegun(t, dir, attacker.Try("swapped-opens", dir))(), "ok passed")
	})
}

// jailBegun starts a jail on a directory and returns a function that waits for the outcome.
func jailBegun(t *testing.T, dir string, a attacker.Attempt) (finish func() attacker.Outcome) {
	t.Helper()
	s := jailtest.BeginBy(t, confine.Launcher{Waive: jailtest.WaivesGaps.Waive}, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), a)
	return func() attacker.Outcome {
		t.Helper()
		select {
		case <-s.Done():
		case <-time.After(testkit.Patience):
			t.Fatalf("%s: it stands still", a)
		}
		s.Finish()
		return jailtest.Outcomes(t, []attacker.Attempt{a}, s.Out.Bytes(), s.Errs.Text)[0]
	}
}

func inBackground(t *testing.T, _ string, a attacker.Attempt) (finish func() attacker.Outcome) {
	t.Helper()
	got := make(chan attacker.Outcome, 1)
	go func() { got <- jailtest.Unconfined(t, "/", a)[0] }()
	return func() attacker.Outcome { return <-got }
}

// TestJailRaceForObjects: the supervisor opens the object that it judged, even if the name leads
// to another object by then. Exchanging a file and a directory gives no write to the old content
// of the file.
func TestJailRaceForObjects(t *testing.T) {
	jailtest.Needs(t)
	testExchange(t)
}

// TestHostNSRaceForObjects is the same without namespaces.
func TestHostNSRaceForObjects(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testExchange(t)
}

func testExchange(t *testing.T) {
	for _, way := range []string{"open", "creat", "trunc", "truncate"} {
		t.Run(way, func(t *testing.T) {
			free := testkit.Plant(t, "drop/name", "drop/other/")
			jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("race-exchange", free, way))[0], "ok made")
			dir := testkit.Plant(t, "drop/name", "drop/other/")
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/drop", Rights: policy.Read | policy.Create | policy.Delete})
			out, err := jailtest.Run(t, confine.Launcher{Waive: jailtest.WaivesGaps.Waive}, p, []attacker.Attempt{attacker.Try("race-exchange", dir, way)})
			if err != nil || out[0] != "ok held" {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
}

// TestHostNSFifoReopened: a program cannot reopen a fifo for writing by a descriptor that reads
// from it.
func TestHostNSFifoReopened(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "ro/", "f")
	testkit.Must(t, unix.Mkfifo(dir+"/ro/fifo", 0o666))
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("fifo-anew", dir+"/ro/fifo"))[0], attacker.Succeeded)
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("fifo-anew", dir+"/ro/fifo"))
	testkit.Equal(t, strings.Join(got, " "), got, []attacker.Outcome{"EACCES"})
}
