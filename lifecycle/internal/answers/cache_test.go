package answers

import (
	"slices"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// world is a cache with one client.
type world struct {
	*Cache
	info   *ClientInfo
	stales int // calls of Options.Stale
}

func infoOf(params string) *ClientInfo {
	var known KnownClient
	f := mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + params + `}`))
	return known.RecordInitialize(f, &f.Messages[0])
}

func newWorld(dir string) *world {
	w := &world{info: infoOf(`{"clientInfo":{"name":"c"}}`)}
	w.Cache = New(&session.Client{}, Options{
		Dir: dir, Version: "test", Stale: func() { w.stales++ },
		Profile: func() *policy.Profile { return &policy.Profile{Server: "test"} },
	})
	return w
}

func tools() *Request { return RequestOf("tools/list", []byte("{}")) }

func list(tool string) string { return `{"tools":[{"name":"` + tool + `"}]}` }

func answerOf(member string) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + member + `}`))
}

func resultOf(tool string) *mcpproxy.Frame { return answerOf(`"result":` + list(tool)) }

func (w *world) store(rq *Request, f *mcpproxy.Frame) {
	w.Store(w.info, rq, f, &f.Messages[0])
	w.client.Tasks.Wait() // for the file
}

// offered returns the kept answer to a request, or "".
func (w *world) offered(rq *Request) string {
	a, _ := w.Lookup(w.info, rq)
	return string(a.Value)
}

// TestStale: an answer of an earlier session is given to one caller to be asked for again, and what the
// server says then takes its place, also for the sessions to come.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		answer  *mcpproxy.Frame
		want    string
		changed bool
	}{
		{resultOf("a"), list("a"), false},
		{resultOf("b"), list("b"), true},
		{answerOf(`"error":{"code":-32603,"message":"no"}`), "", true},
		{nil, "", true},
	} {
		dir := t.TempDir() + "/lists"
		first := newWorld(dir)
		rq := tools()
		if _, ok := first.Lookup(first.info, rq); ok {
			t.Fatal("an empty cache has an answer")
		}
		first.store(rq, resultOf("a"))
		if got := first.offered(rq); got != list("a") || first.stales != 0 {
			t.Fatalf("it offers %s, and %d are stale", got, first.stales)
		}
		w := newWorld(dir)
		if got := w.offered(rq); got != list("a") || w.stales != 1 {
			t.Fatalf("from the file: %s, %d stale", got, w.stales)
		}
		stale := w.TakeStale(w.info, time.Hour)
		if !slices.Equal(stale.Names, []string{"tools/list"}) {
			t.Fatalf("%q are stale", stale.Names)
		}
		if changed := stale.Apply("tools/list", c.answer); changed != c.changed {
			t.Errorf("%s: changed %t", c.want, changed)
		}
		if got := w.offered(rq); got != c.want {
			t.Errorf("it offers %q, want %q", got, c.want)
		}
		if w.stales != 1 || len(w.TakeStale(w.info, time.Hour).Names) > 0 {
			t.Errorf("%q: it is stale again", c.want)
		}
		w.client.Tasks.Wait()
		if got := newWorld(dir).offered(rq); got != c.want {
			t.Errorf("the next session offers %q, want %q", got, c.want)
		}
	}
}

// TestDeclined: that a server does not know server/discover is kept, for a day and without being asked
// again; other errors are not.
func TestDeclined(t *testing.T) {
	for member, want := range map[string]string{
		`"error":{"code":-32601,"message":"x"}`: `{"code":-32601,"message":"x"}`,
		`"error":{"code":-32603,"message":"x"}`: "",
	} {
		dir := t.TempDir() + "/lists"
		rq := RequestOf("server/discover", nil)
		newWorld(dir).store(rq, answerOf(member))
		w := newWorld(dir)
		if got := w.offered(rq); got != want || w.stales != 0 {
			t.Errorf("it offers %q, want %q, and %d are stale", got, want, w.stales)
		}
		if k, ok := w.entryFor(w.info).answers["server/discover"]; ok && k.isFresh(k.Stored.Add(25*time.Hour)) {
			t.Error("it is believed for more than a day")
		}
	}
}

// TestNoteChanged: a list_changed makes the lists stale, and another does so only after the pause.
func TestNoteChanged(t *testing.T) {
	w := newWorld("")
	rq := tools()
	w.Lookup(w.info, rq)
	w.store(rq, resultOf("a"))
	for i, want := range []int{1, 0} {
		if now := w.NoteChanged(w.info, time.Hour); now != (want == 1) {
			t.Errorf("list_changed %d: stale now %t", i, now)
		}
		if stale := w.TakeStale(w.info, time.Hour); len(stale.Names) != want {
			t.Errorf("list_changed %d: %q are stale", i, stale.Names)
		}
	}
	if !w.NoteChanged(w.info, 0) || len(w.TakeStale(w.info, 0).Names) != 1 {
		t.Error("nothing is stale after the pause")
	}
}

// TestReset: an answer to a request from before a reset is not kept.
func TestReset(t *testing.T) {
	for _, reset := range []bool{false, true} {
		w := newWorld("")
		rq, other := tools(), RequestOf("prompts/list", nil)
		w.Lookup(w.info, other)
		w.store(other, resultOf("a prompt"))
		w.Lookup(w.info, rq)
		if reset {
			if kinds := w.Reset(); !slices.Equal(kinds, []string{"prompts"}) {
				t.Errorf("%q were listed", kinds)
			}
		}
		w.store(rq, resultOf("a"))
		if kept := w.offered(rq) != ""; kept == reset {
			t.Errorf("after a reset %t the answer is kept: %t", reset, kept)
		}
	}
}
