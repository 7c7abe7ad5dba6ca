package confine

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailWaitsAlone: calls that wait for a lease or a fifo of the host delay no other call
// of the jail, however many of them wait.
func TestJailWaitsAlone(t *testing.T) {
	needsJail(t)
	testLeased(t)
	testFifos(t)
	testSwapped(t)
}

// TestBareWaitsAlone is the same without namespaces.
func TestBareWaitsAlone(t *testing.T) {
	needsBare(t)
	testLeased(t)
	testFifos(t)
	testSwapped(t)
}

// blocked are as many calls as there are workers, and one more.
const blocked = maxWorkers + 1

func heldNames() []string {
	var names []string
	for i := range blocked {
		names = append(names, fmt.Sprint("held/", i))
	}
	return names
}

// testLeased: the host holds leases on files that the server opens for writing.
func testLeased(t *testing.T) {
	t.Run("leases", func(t *testing.T) {
		signal.Ignore(unix.SIGIO) // what the kernel asks for them back by
		run := func(begin func(dir string) (finish func() outcome)) outcome {
			dir := testkit.Plant(t, append(heldNames(), "old")...)
			var leased []*os.File
			for _, name := range heldNames() {
				f, err := os.Open(dir + "/" + name)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
					t.Fatal(err)
				}
				leased = append(leased, f)
			}
			finish := begin(dir)
			testkit.Eventually(t, "every lease is asked back", func() bool {
				for _, f := range leased {
					if kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0); err != nil || kind != unix.F_UNLCK {
						return false
					}
				}
				return true
			})
			letPass(t, dir, func() {
				for _, f := range leased {
					if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
						t.Errorf("the lease was taken meanwhile: %v", err)
					}
				}
			})
			return finish()
		}
		want := fmt.Sprint("ok ", blocked)
		expect(t, "unconfined", run(func(dir string) func() outcome { return inBackground(t, try("blocked-opens", dir)) }), want)
		expect(t, "in the jail", run(func(dir string) func() outcome { return jailBegun(t, dir, try("blocked-opens", dir)) }), want)
	})
}

// testFifos: the server opens fifos for writing, and no process opens them for reading.
func testFifos(t *testing.T) {
	t.Run("fifos", func(t *testing.T) {
		run := func(begin func(dir string) (finish func() outcome)) outcome {
			dir := testkit.Plant(t, "held/", "old")
			for _, name := range heldNames() {
				if err := unix.Mkfifo(dir+"/"+name, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			finish := begin(dir)
			letPass(t, dir, func() {
				for _, name := range heldNames() {
					f, err := os.OpenFile(dir+"/"+name, os.O_RDONLY|unix.O_NONBLOCK, 0)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { f.Close() })
				}
			})
			return finish()
		}
		want := fmt.Sprint("ok ", blocked)
		expect(t, "unconfined", run(func(dir string) func() outcome { return inBackground(t, try("blocked-opens", dir)) }), want)
		expect(t, "in the jail", run(func(dir string) func() outcome { return jailBegun(t, dir, try("blocked-opens", dir)) }), want)
	})
}

// letPass lets the server make its other calls, and what it waits for come when it has.
func letPass(t *testing.T, dir string, release func()) {
	t.Helper()
	if err := os.WriteFile(dir+"/wait", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the other calls have passed", func() bool { _, err := os.Lstat(dir + "/passed"); return err == nil })
	release()
}

// testSwapped: the host puts a fifo in the place of a file, now and then.
func testSwapped(t *testing.T) {
	t.Run("swapped", func(t *testing.T) {
		dir := testkit.Plant(t, "swapped", "old", "aside/")
		fifo := dir + "/aside/fifo"
		if err := unix.Mkfifo(fifo, 0o666); err != nil {
			t.Fatal(err)
		}
		var over atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !over.Load() {
				unix.Renameat2(unix.AT_FDCWD, dir+"/swapped", unix.AT_FDCWD, fifo, unix.RENAME_EXCHANGE)
			}
		}()
		defer func() { over.Store(true); <-done }()
		expect(t, "unconfined", unconfined(t, "/", try("swapped-opens", dir))[0], "ok passed")
		expect(t, "in the jail", jailBegun(t, dir, try("swapped-opens", dir))(), "ok passed")
	})
}

// jailBegun starts a jail on a directory, and returns what gives the outcome.
func jailBegun(t *testing.T, dir string, a attempt) (finish func() outcome) {
	t.Helper()
	s := beginWith(t, Launcher{Waive: allGaps.Waive}, jailProfile(t, grant{dir, rw}), a)
	return func() outcome {
		t.Helper()
		select {
		case <-s.Done():
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: it stands still", a)
		}
		s.finish()
		return outcomes(t, []attempt{a}, s.out.Bytes(), s.errs.text)[0]
	}
}

func inBackground(t *testing.T, a attempt) (finish func() outcome) {
	t.Helper()
	got := make(chan outcome, 1)
	go func() { got <- unconfined(t, "/", a)[0] }()
	return func() outcome { return <-got }
}

// TestJailRaceForObjects: the supervisor opens the object that it judged, also if the name
// leads to another object by then. Exchanging a file and a directory gives no write to the file's old content.
func TestJailRaceForObjects(t *testing.T) {
	needsJail(t)
	testExchange(t)
}

// TestBareRaceForObjects is the same without namespaces.
func TestBareRaceForObjects(t *testing.T) {
	needsBare(t)
	testExchange(t)
}

func testExchange(t *testing.T) {
	for _, way := range []string{"open", "creat", "trunc", "truncate"} {
		t.Run(way, func(t *testing.T) {
			free := testkit.Plant(t, "drop/name", "drop/other/")
			expect(t, "unconfined", unconfined(t, "/", try("race-exchange", free, way))[0], "ok made")
			dir := testkit.Plant(t, "drop/name", "drop/other/")
			p := jailProfile(t, grant{dir + "/drop", policy.Read | policy.Create | policy.Delete})
			out, err := runJail(t, Launcher{Waive: allGaps.Waive}, p, []attempt{try("race-exchange", dir, way)})
			if err != nil || out[0] != "ok held" {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
}

// TestJailFifoAnew: a descriptor that reads from a fifo is none to write to it by.
func TestBareFifoAnew(t *testing.T) {
	needsBare(t)
	dir := testkit.Plant(t, "ro/", "f")
	if err := unix.Mkfifo(dir+"/ro/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	p := jailProfile(t, grant{dir, rw}, grant{dir + "/ro", policy.Read})
	expect(t, "unconfined", unconfined(t, "/", try("fifo-anew", dir+"/ro/fifo"))[0], succeeded)
	got := inBare(t, p, try("fifo-anew", dir+"/ro/fifo"))
	if !slices.Equal(got, []outcome{"EACCES"}) {
		t.Errorf("%v", strings.Join(got, " "))
	}
}
