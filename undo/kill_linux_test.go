package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAfterKilledWrite: a process was killed in the middle of a line. The next record is a line of its own.
func TestAfterKilledWrite(t *testing.T) {
	journal := testkit.Get(os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600))(t)
	defer journal.Close()
	testkit.Must(t, add(journal, 1<<20, &record{Path: []byte("first")}))
	testkit.Get(journal.WriteString(`{"Path":"c2Vj`))(t)
	testkit.Must(t, add(journal, 1<<20, &record{Path: []byte("third")}))
	testkit.Get(journal.Seek(0, 0))(t)
	var paths []string
	damaged, err := parse(journal, func(r *record) { paths = append(paths, string(r.Path)) })
	testkit.Must(t, err)
	testkit.Equal(t, "paths", fmt.Sprint(paths, damaged), "[first third] true")
}

// killedAt has this process killed at the nth moment.
func killedAt(n int) {
	seen := 0
	moment = func() {
		if seen++; seen == n {
			unix.Kill(unix.Getpid(), unix.SIGKILL)
			select {}
		}
	}
}

// TestKillHelper is the process that is killed: a session, or the undo of one.
func TestKillHelper(t *testing.T) {
	base, what, ok := strings.Cut(os.Getenv("UNDO_KILL"), "|")
	if !ok {
		return
	}
	what, at, _ := strings.Cut(what, "|")
	n, _ := strconv.Atoi(at)
	w := &world{t: t, ws: filepath.Join(base, "ws"), store: Store{Dir: filepath.Join(base, "undo")}, open: map[string]*os.File{}}
	if killedAt(n); what == "session" {
		w.killed()
		return
	}
	w.undo(what, 0)
}

func killWorld(t *testing.T) *world {
	return newWorld(t, "a=1", "b="+strings.Repeat("b", 100<<10), "d/a=3", "d/e/b=4", "l->a", "g=gone", "m=mode")
}

// killed is the session of the kills.
func (w *world) killed() string {
	w.begin(true)
	w.calls(func() { w.write("a=server"); w.move("d", "e"); w.remove("g") })
	w.calls(func() { w.write("b=server"); w.hold("a", "held"); w.chmod("m", 0o600) })
	w.calls(func() { w.write("l->b"); w.write("n/new=server"); w.hold("a", "held again") })
	w.calls(func() { w.move("e", "d"); w.link("m", "m2"); w.write("m=by the link"); w.remove("n") })
	w.calls(func() { w.move("b", "d/b"); w.write("b/x=a directory now"); w.chmod("d", 0o700) })
	return w.end()
}

// runKilled runs a part in a process of its own, which is killed at the nth moment. It reports whether it was.
func (w *world) runKilled(what string, n int) bool {
	w.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillHelper$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("UNDO_KILL=%s|%s|%d", filepath.Dir(w.ws), what, n))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != -1 {
		w.t.Fatalf("%v: %s", err, out)
	}
	return err != nil
}

// takeAll undoes a session and names each path that stays, until none does.
func (w *world) takeAll(id string) {
	w.t.Helper()
	for range 4 {
		stay, _ := w.undo(id, 0)
		if len(stay) == 0 {
			return
		}
		for path, why := range stay {
			said := func(part string) bool { return strings.Contains(why, part) }
			if !slices.ContainsFunc([]string{"killed", "interrupted", "others", "names, and all", "something in it", "it has what was", "its directory is not there"}, said) {
				w.t.Fatalf("%s stays: %s", path, why)
			}
		}
		w.undo(id, 0, slices.Collect(maps.Keys(stay))...)
	}
	stay, _ := w.undo(id, 0)
	w.t.Fatalf("stay: %v", stay)
}

func (w *world) sessions() (ids []string) {
	all, _, err := w.store.Sessions()
	w.must(err)
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

// everyMoment calls try with the moments to be killed at, each with a world of its own, until it is not killed: with
// each moment in make test-long, elsewhere with each fifth one, from another one in each run.
func everyMoment(t *testing.T, try func(w *world, n int) (killed bool)) {
	t.Helper()
	step, kills := testkit.Rounds(5, 1), 0
	for n := 1 + rand.IntN(step); try(killWorld(t), n); n += step {
		kills++
	}
	t.Logf("%d moments", kills)
	if kills < 50/step {
		t.Errorf("only %d moments", kills)
	}
}

// TestKilledSession: a session is killed at its moments. Nothing is taken for a change of the
// user's that is none: what is not known is said to be so, path by path, and comes back when it is named.
func TestKilledSession(t *testing.T) {
	everyMoment(t, func(w *world, n int) bool {
		before := w.tree(true)
		if !w.runKilled("session", n) {
			return false
		}
		ids := w.sessions()
		if len(ids) == 0 {
			return true
		}
		stay, _ := w.undo(ids[0], 0)
		for path, why := range stay {
			if strings.Contains(why, "after the server's last change") {
				t.Fatalf("moment %d: %s is taken for a change of others: %s", n, path, why)
			}
		}
		w.takeAll(ids[0])
		w.wants(fmt.Sprintf("killed at moment %d", n), before)
		return true
	})
}

// TestKilledUndo: an undo is killed at its moments. The next one finishes it, and the user's own file
// stays in each.
func TestKilledUndo(t *testing.T) {
	everyMoment(t, func(w *world, n int) bool {
		w.timeless = true // the time is set last
		before := w.tree(false)
		id := w.killed()
		after := w.tree(false)
		w.plain("own=user")
		if !w.runKilled(id, n) {
			return false
		}
		undo := w.sessions()[0]
		if n%2 == 0 && undo != id { // the undo is undone
			w.takeAll(undo)
			after["own"] = w.tree(false)["own"]
			w.wants(fmt.Sprintf("an undo killed at moment %d, undone", n), after)
		}
		w.takeAll(id)
		before["own"] = w.tree(false)["own"]
		w.wants(fmt.Sprintf("killed at moment %d", n), before)
		return true
	})
}

// TestLeftoverName: what a server has put under the name of a file that a killed undo has left is not removed with it.
func TestLeftoverName(t *testing.T) {
	for n := 1; ; n += 3 {
		w := killWorld(t)
		id := w.killed()
		w.plain("own=user")
		if !w.runKilled(id, n) {
			t.Fatal("no killed undo has left a file")
		}
		left := ""
		w.must(filepath.WalkDir(w.ws, func(file string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
				left, err = filepath.Rel(w.ws, file)
			}
			return err
		}))
		if left == "" {
			continue
		}
		w.begin(false)
		w.calls(func() { w.move("own", left) })
		w.end()
		w.undo(id, 0)
		if text, err := os.ReadFile(w.at(left)); string(text) != "user" {
			t.Errorf("killed at moment %d: %s has %q, %v", n, left, text, err)
		}
		return
	}
}
