package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func request(id string) *Envelope {
	return &Envelope{ID: []byte(id), Method: []byte("tools/call"), Name: []byte("t" + id)}
}

// TestPendingKeys: a response matches the request that has the value of its id.
func TestPendingKeys(t *testing.T) {
	p := NewPending()
	ids := []string{`1`, `1.5`, `"1"`, `0`, `-1`, `9007199254740993`, `9007199254740992`, `"é"`, `""`, `"1.0"`}
	for _, id := range ids {
		p.Add(request(id), time.Time{}, 0)
	}
	var c Call
	for _, id := range []string{`2`, `"2"`, `10`, `"e"`} {
		if p.Take([]byte(id), &c) {
			t.Errorf("%s matches %s", id, c.ID)
		}
	}
	if !p.Take([]byte(`"\u00e9"`), &c) || string(c.ID) != `"é"` {
		t.Errorf("an escaped string is another id")
	}
	p.Add(request(`"é"`), time.Time{}, 0)
	for n := range ids {
		i := (n*3 + 5) % len(ids)
		if !p.Take([]byte(ids[i]), &c) || string(c.ID) != ids[i] || string(c.Tool) != "t"+ids[i] {
			t.Errorf("%s: got %s %s", ids[i], c.ID, c.Tool)
		}
		if p.Take([]byte(ids[i]), &c) {
			t.Errorf("%s is there twice", ids[i])
		}
	}
	if p.Len() != 0 || len(p.calls) != 0 {
		t.Errorf("%d left, %d ids", p.Len(), len(p.calls))
	}
}

func TestIDKey(t *testing.T) {
	for _, same := range [][2]string{
		{`"é"`, `"\u00e9"`}, {`1`, `1`}, {`"a/b"`, `"a\/b"`},
		{`3`, `3.0`}, {`3`, `3e0`}, {`3`, `30E-1`}, {`-3`, `-0.3e+1`}, {`0`, `-0`}, {`0`, `0.00`}, {`0`, `0e5`}, {`1.50`, `15e-1`},
		{`9007199254740993`, `9007199254740993.0`}, {`100`, `1e2`}, {`1e70`, `1` + strings.Repeat("0", 70)}, {`-1e62`, `-1` + strings.Repeat("0", 62)},
	} {
		if IDKey([]byte(same[0])) != IDKey([]byte(same[1])) {
			t.Errorf("%s is not %s", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{`1`, `"1"`}, {`1`, `"1.0"`}, {`"1"`, `"1.0"`}, {`1`, `1.01`}, {`3`, `-3`}, {`9007199254740993`, `9007199254740992`}, {`1e70`, `1e71`},
		{`1`, `1e99999999999999999999`}, {`1e99999999999999999999`, `1e99999999999999999998`}, {`null`, `0`}, {`"a"`, `"A"`}, {`"\u0022"`, `""`}} {
		if IDKey([]byte(other[0])) == IDKey([]byte(other[1])) {
			t.Errorf("%s is %s", other[0], other[1])
		}
	}
}

// TestPendingSameID checks that a client that uses an id twice gets both responses, in
// order.
func TestPendingSameID(t *testing.T) {
	p := NewPending()
	for i := range uint64(3) {
		p.Add(request("5"), time.Time{}, i+1)
	}
	var c Call
	for i := range uint64(3) {
		if !p.Take([]byte("5"), &c) || c.Batch != i+1 {
			t.Fatalf("got the request of batch %d, want %d", c.Batch, i+1)
		}
	}
	if p.Take([]byte("5"), &c) || len(p.calls) != 0 {
		t.Error("something is left")
	}
}

func TestPendingConcurrently(t *testing.T) {
	p := NewPending()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			var c Call
			for i := range 2000 {
				id := fmt.Sprint(g*10000 + i)
				p.Add(request(id), time.Time{}, 0)
				if i%7 == 0 {
					p.Answer(func(c *Call) bool { return false })
				}
				if !p.Take([]byte(id), &c) || string(c.ID) != id {
					t.Errorf("%s: got %s", id, c.ID)
					return
				}
			}
		})
	}
	all.Wait()
	if p.Len() != 0 {
		t.Errorf("%d left", p.Len())
	}
}

func answer(id, result string) *Frame {
	return Parse([]byte(` {"id":` + id + `, "result":` + result + "}\r\n"))
}

// TestBatch expects one frame, after the last response and not before.
func TestBatch(t *testing.T) {
	var out bytes.Buffer
	b := NewBatch(NewWriter(&out), 4, 0)
	edited := answer("1", "{}")
	edited.AddMember(&edited.Messages[0].Result, "a", []byte("1"))
	edited.Replace(edited.Messages[0].IDAt, []byte(`"one"`))
	for _, step := range []error{b.Send(answer("9007199254740993", "{ }")), b.Drop(), b.Send(edited)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	for name, f := range map[string]*Frame{
		"a request": Parse([]byte(`{"id":1,"method":"m"}`)), "half": Parse([]byte(`{"id":1,"result":1`)), "nothing": Parse(nil),
		"two": Parse([]byte(`[{"id":1,"result":1},{"id":2,"result":1}]`)),
	} {
		if err := b.Send(f); err != ErrNotWaited {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("too early: %q", out.String())
	}
	file := b.spill.file
	testkit.Must(t, b.Inject([]byte(`{"id":3,"error":{}}`+"\n")))
	want := `[{"id":9007199254740993, "result":{ }},{"id":"one", "result":{"a":1}},{"id":3,"error":{}}]` + "\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("its file is still open: %v", err)
	}
	for _, late := range []error{b.Send(edited), b.Drop(), b.Inject([]byte("{}"))} {
		if late != ErrNotWaited {
			t.Errorf("late: %v", late)
		}
	}
}

// TestBatchOfNothing checks JSON-RPC 2.0, "Batch": "there MUST NOT be an empty Array".
func TestBatchOfNothing(t *testing.T) {
	var out bytes.Buffer
	b := NewBatch(NewWriter(&out), 2, 0)
	for range 2 {
		if err := b.Drop(); err != nil || out.Len() > 0 {
			t.Errorf("got %q, %v", out.String(), err)
		}
	}
	if err := NewBatch(NewWriter(&out), 0, 0).Drop(); err != ErrNotWaited {
		t.Errorf("of no requests: %v", err)
	}
}

// TestBatchLimit sends a response that exceeds the limit, with others before and after it,
// in memory and in a file. The Batch refuses it and accepts ours in its place.
func TestBatchLimit(t *testing.T) {
	smallFrames(t)
	for _, limit := range []int64{1000, int64(maxInMemory), int64(maxInMemory) + 1000} {
		for _, first := range []int{0, 100, maxInMemory + 100, int(limit) / 2} {
			var out bytes.Buffer
			b := NewBatch(NewWriter(&out), 5, limit)
			want := ""
			send := func(id string, size int) {
				f := answer(id, `"`+strings.Repeat("x", size)+`"`)
				line := strings.TrimSpace(string(f.Bytes()))
				switch err := b.Send(f); {
				case len(want)+1+len(line)+2 > int(limit):
					if !errors.Is(err, ErrBatchFull) {
						t.Errorf("limit %d: %d bytes behind %d: %v", limit, len(line), len(want), err)
					}
					ours := `{"id":` + id + `,"error":{}}`
					testkit.Must(t, b.Inject([]byte(ours)))
					want += "," + ours
				case err != nil:
					t.Errorf("limit %d: %d bytes behind %d: %v", limit, len(line), len(want), err)
				default:
					want += "," + line
				}
			}
			send("1", first)
			send("2", int(limit))
			send("3", int(limit)-len(want)-1-len(`{"id":3, "result":""}`)-2+1) // one too many
			send("4", int(limit)-len(want)-1-len(`{"id":4, "result":""}`)-2)
			send("5", 0)
			if want = "[" + want[1:] + "]\n"; out.String() != want {
				t.Errorf("limit %d, first %d: %d bytes, want %d: %.80q", limit, first, out.Len(), len(want), out.String())
			}
		}
	}
}

func TestBatchConcurrently(t *testing.T) {
	const n = 200
	var out bytes.Buffer
	b := NewBatch(NewWriter(&out), n, 0)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := b.Send(answer(fmt.Sprint(i), "{}")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if f := Parse(out.Bytes()); len(f.Messages) != n || !f.Flaws.IsStrict() || !f.Batch {
		t.Errorf("%d messages, flaws %b", len(f.Messages), f.Flaws)
	}
}

// TestPendingKeep: a request is kept as it came until its response, and not beside too many others.
func TestPendingKeep(t *testing.T) {
	p := NewPending()
	var c Call
	keep := func(id int) bool {
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
		f := Parse([]byte(" " + text))
		p.Add(&f.Messages[0], time.Now(), 0)
		kept := p.Keep(f, &f.Messages[0])
		if got := p.calls[IDKey([]byte(fmt.Sprint(id)))][0].Line; kept && string(got) != text+"\n" {
			t.Errorf("%q is kept of %q", got, text)
		}
		return kept
	}
	for i := range MaxKept {
		if !keep(i) {
			t.Fatalf("request %d is not kept", i)
		}
	}
	if keep(MaxKept) {
		t.Error("too many are kept")
	}
	for i := range 2 {
		if !p.Take([]byte(fmt.Sprint(i)), &c) || c.Line == nil {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if !keep(0) {
		t.Error("none is kept after two were answered")
	}
}
