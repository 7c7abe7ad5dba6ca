package answers

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// world is a cache with one client.
type world struct {
	*Cache
	info   *clientinfo.Info
	stales int // calls of Options.Stale
}

func newWorld(t *testing.T, program string, c *catalog.Catalog) *world {
	t.Helper()
	var known clientinfo.Known
	f := mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"c"}}}`))
	w := &world{info: known.RecordInitialize(f, &f.Messages[0])}
	w.Cache = New(&session.Client{Started: time.Now()}, Options{
		Server: "test", Catalog: c, Version: "test", Stale: func() { w.stales++ },
		Profile: func() *policy.Profile { return &policy.Profile{Server: "test", Program: program} },
	})
	return w
}

func tools() *Request { return RequestOf("tools/list", []byte("{}")) }

func resultOf(tool string) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"` + tool + `"}]}}`))
}

func (w *world) store(rq *Request, tool string) {
	f := resultOf(tool)
	w.Store(w.info, rq, f, &f.Messages[0])
	w.client.Tasks.Wait() // for the catalog
}

// offered returns the tool of the kept list, or "".
func (w *world) offered() string {
	a, ok := w.Lookup(w.info, tools())
	if !ok {
		return ""
	}
	return string(a.Value)
}

func list(tool string) string { return `{"tools":[{"name":"` + tool + `"}]}` }

// TestStale: an answer of an earlier session is given to one caller to be asked for again, and what the
// server says then takes its place.
func TestStale(t *testing.T) {
	program := filepath.Join(t.TempDir(), "server")
	testkit.Must(t, os.WriteFile(program, nil, 0o700))
	for _, c := range []struct {
		answer  *mcpproxy.Frame
		want    string
		changed bool
	}{
		{resultOf("a"), list("a"), false},
		{resultOf("b"), list("b"), true},
		{nil, "", true},
	} {
		var kept catalog.Catalog
		first := newWorld(t, program, &kept)
		rq := tools()
		if _, ok := first.Lookup(first.info, rq); ok {
			t.Fatal("an empty cache has an answer")
		}
		first.store(rq, "a")
		if first.offered() != list("a") || first.stales != 0 {
			t.Fatalf("it offers %s, and %d are stale", first.offered(), first.stales)
		}
		w := newWorld(t, program, &kept)
		if w.offered() != list("a") || w.stales != 1 {
			t.Fatalf("from the catalog: %s, %d stale", w.offered(), w.stales)
		}
		stale := w.TakeStale(w.info, time.Hour)
		if !slices.Equal(stale.Names, []string{"tools/list"}) {
			t.Fatalf("%q are stale", stale.Names)
		}
		if changed := stale.Apply("tools/list", c.answer); changed != c.changed {
			t.Errorf("%s: changed %t", c.want, changed)
		}
		if got := w.offered(); got != c.want {
			t.Errorf("it offers %q, want %q", got, c.want)
		}
		if w.stales != 1 || len(w.TakeStale(w.info, time.Hour).Names) > 0 {
			t.Errorf("%q: it is stale again", c.want)
		}
		w.client.Tasks.Wait()
	}
}

// TestNoteChanged: a list_changed makes the lists stale, and another does so only after the pause.
func TestNoteChanged(t *testing.T) {
	w := newWorld(t, "", nil)
	rq := tools()
	w.Lookup(w.info, rq)
	w.store(rq, "a")
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
		w := newWorld(t, "", nil)
		rq, other := tools(), RequestOf("prompts/list", []byte("{}"))
		w.Lookup(w.info, other)
		w.store(other, "a prompt")
		w.Lookup(w.info, rq)
		if reset {
			if kinds := w.Reset(); !slices.Equal(kinds, []string{"prompts"}) {
				t.Errorf("%q were listed", kinds)
			}
		}
		w.store(rq, "a")
		if kept := w.offered() != ""; kept == reset {
			t.Errorf("after a reset %t the answer is kept: %t", reset, kept)
		}
	}
}
