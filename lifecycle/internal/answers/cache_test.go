package answers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
		name    string
		answer  *mcpproxy.Frame
		want    string
		changed bool
	}{
		{"the same", resultOf("a"), list("a"), false},
		{"another", resultOf("b"), list("b"), true},
		{"an error", answerOf(`"error":{"code":-32603,"message":"no"}`), "", true},
		{"no answer", nil, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
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
				t.Errorf("changed %t", changed)
			}
			if got := w.offered(rq); got != c.want {
				t.Errorf("it offers %q, want %q", got, c.want)
			}
			if w.stales != 1 || len(w.TakeStale(w.info, time.Hour).Names) > 0 {
				t.Error("it is stale again")
			}
			w.client.Tasks.Wait()
			if got := newWorld(dir).offered(rq); got != c.want {
				t.Errorf("the next session offers %q, want %q", got, c.want)
			}
		})
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
			t.Errorf("%s: it offers %q, want %q, and %d are stale", member, got, want, w.stales)
		}
		if k, ok := w.entryFor(w.info).answers["server/discover"]; ok && k.isFresh(k.Stored.Add(25*time.Hour)) {
			t.Errorf("%s: it is believed for more than a day", member)
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

func TestStripRequest(t *testing.T) {
	t.Parallel()
	for line, want := range testkit.Named[string](t, "capabilities-kept.txt") {
		f := mcpproxy.Parse([]byte(line))
		got := StripRequest(f)
		if want == "" && got != f {
			t.Errorf("%s was replaced by %s", line, got.Bytes())
		}
		if want != "" && string(got.Bytes()) != want {
			t.Errorf("%s became\n%s, want\n%s", line, got.Bytes(), want)
		}
	}
}

func TestStripServer(t *testing.T) {
	t.Parallel()
	const all = `{"capabilities":{"tools":{"listChanged":true},"tasks":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for modern, want := range map[bool]string{
		true:  `{"capabilities":{"tools":{},"resources":{},"prompts":{},"extensions":{"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		false: `{"capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{"listChanged":true},"extensions":{"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
	} {
		if got := string(StripServer([]byte(all), modern)); got != want {
			t.Errorf("modern %v: %s", modern, got)
		}
	}
}

func TestStripTools(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`{"tools":[{"name":"a","execution":{"taskSupport":"required", "x":1}}, {"name":"b","execution":{"taskSupport":"optional"}}]}`: `{"tools":[{"name":"a","execution":{ "x":1}},{"name":"b","execution":{}}]}`,
		// A tool that takes no task says what holds here, and the name elsewhere is the server's.
		`{"tools":[{"name":"a","execution":{"taskSupport":"forbidden"}}]}`:                          "",
		`{"tools":[{"name":"a","inputSchema":{"properties":{"execution":{"taskSupport":"x"}}}}]}`:   "",
		`{"tools":{"execution":{"taskSupport":"required"}},"execution":{"taskSupport":"required"}}`: "",
	} {
		if want == "" {
			want = list
		}
		if got := string(StripTools([]byte(list))); got != want {
			t.Errorf("%s became\n%s, want\n%s", list, got, want)
		}
	}
}

func TestIsTask(t *testing.T) {
	t.Parallel()
	for result, want := range testkit.Named[bool](t, "capabilities.txt") {
		if got := IsTask([]byte(result)); got != want {
			t.Errorf("%s: %v", result, got)
		}
	}
}

// TestLifetime: which results may be kept, and for how long.
func TestLifetime(t *testing.T) {
	const unlimited = -1 // it is kept, and has no ttlMs; 0: it is not kept
	for _, row := range []struct {
		result string
		want   time.Duration
	}{
		{`{}`, unlimited}, {`{"tools":[]}`, unlimited}, {`{"tools":[{"ttlMs":5,"nextCursor":"a"}]}`, unlimited},
		{`{"resultType":"complete","ttlMs":1500,"cacheScope":"private"}`, 1500 * time.Millisecond},
		{`{"ttlMs":1e3,"cacheScope":"public"}`, time.Second}, {`{"ttlMs":1.9}`, time.Millisecond},
		{`{"ttlMs":31536000000}`, maxTTL}, {`{"ttlMs":1e999}`, maxTTL},
		{`{"ttlMs":0}`, 0}, {`{"ttlMs":-5}`, 0}, {`{"ttlMs":-1e999}`, 0}, {`{"ttlMs":0.5}`, 0}, {`{"ttlMs":1e-999}`, 0},
		{`{"ttlMs":"1000"}`, 0}, {`{"ttlMs":null}`, 0}, {`{"ttlMs":{}}`, 0},
		{`{"resultType":"complete"}`, 0}, {`{"resultType":"input_required","ttlMs":1000}`, 0}, {`{"resultType":1,"ttlMs":1000}`, 0},
		{`{"ttlMs":1000,"ttlMs":0}`, 0}, {`{"ttlMs":1000,"TTLMS":0}`, 0}, {`{"ResultType":"task","ttlMs":1000}`, 0},
		{`{"tools":[],"nextCursor":"a"}`, 0},
	} {
		ttl, keep := lifetime([]byte(row.result))
		if keep != (row.want != 0) || keep && ttl != max(row.want, 0) {
			t.Errorf("%s: %v, kept %t", row.result, ttl, keep)
		}
	}
}

// TestFresh: how long an answer may be used, and what the client is told of it.
func TestFresh(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		age, ttl time.Duration
		earlier  bool
		fresh    bool
		shown    string
	}{
		{0, 0, false, true, "x"},
		{maxAge - time.Hour, 0, true, true, "x"},
		{maxAge, 0, true, false, ""},
		{-time.Minute, 0, true, false, ""}, // the clock was set back
		{time.Second, time.Minute, false, true, "59000"},
		{time.Second, time.Minute, true, true, "0"},
		{time.Minute, time.Minute, false, false, ""},
	} {
		k := kept{Result: []byte(`{"ttlMs":"x"}`), Stored: now.Add(-row.age), TTL: row.ttl, earlier: row.earlier}
		if k.isFresh(now) != row.fresh {
			t.Errorf("%+v: fresh %t", row, !row.fresh)
		}
		if shown := string(k.shown(now)); row.fresh && !strings.Contains(shown, row.shown) {
			t.Errorf("%+v: the client gets %s", row, shown)
		}
	}
}

// TestRequestOf: which requests have an answer that may be kept.
func TestRequestOf(t *testing.T) {
	for _, row := range []struct {
		method, params string
		want           bool
	}{
		{"initialize", `{"capabilities":{}}`, true}, {"server/discover", `{"_meta":{}}`, true}, {"tools/list", ``, true},
		{"tools/list", `{}`, true}, {"tools/list", ` {"_meta":{"progressToken":1}} `, true},
		{"tools/list", `{"cursor":"c"}`, false}, {"tools/list", `{"_meta":{},"requestState":"x"}`, false},
		{"tools/list", `{"Cursor":"c"}`, false}, {"tools/list", `["c"]`, false},
		{"tools/call", `{}`, false}, {"resources/read", `{}`, false}, {"", ``, false},
	} {
		if got := RequestOf(row.method, []byte(strings.TrimSpace(row.params))); (got != nil) != row.want {
			t.Errorf("%s %s: kept %t", row.method, row.params, !row.want)
		}
	}
}

func page(next string, names ...string) []byte {
	return fmt.Appendf(nil, `{"tools":[{"name":"%s"}],"nextCursor":"%s"}`, strings.Join(names, `"},{"name":"`), next)
}

// TestPages: a list is whole after its last page, if its first was seen.
func TestPages(t *testing.T) {
	t.Parallel()
	var tools Tools
	for i, c := range testkit.Table[struct {
		next  string
		first bool
		want  []string
	}](t, "tools.txt") {
		next, all := tools.AddPage(page(c.next, fmt.Sprint("t", i)), c.first)
		if next != c.next || !slices.Equal(all, c.want) {
			t.Errorf("page %d: next %q, all %q", i, next, all)
		}
	}
	if !tools.Has("t0") || tools.Has("t9") {
		t.Error("it does not know the tools of a part of a list, or knows others")
	}
}

// TestManyTools: the tools that are remembered are bounded, and so are their names.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var tools Tools
	for n := range 3 {
		names := make([]string, maxTools/2)
		for i := range names {
			names[i] = fmt.Sprint(n, " ", i)
		}
		tools.AddPage(page("", names...), true)
	}
	if len(tools.known) != maxTools || !tools.Has("0 1") || tools.Has("2 1") {
		t.Errorf("%d tools", len(tools.known))
	}
	tools = Tools{}
	long := strings.Repeat("x", mcpproxy.MaxTool)
	if tools.AddPage(page("", long, long+"x"), true); !tools.Has(long) || tools.Has(long+"x") {
		t.Errorf("%d tools with long names, want the shorter of two", len(tools.known))
	}
}
