package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

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
	testkit.Must(t, b.Inject([]byte(`{"id":3,"error":{}}`+"\n")))
	want := `[{"id":9007199254740993, "result":{ }},{"id":"one", "result":{"a":1}},{"id":3,"error":{}}]` + "\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
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
	for _, limit := range []int64{1000, maxInMemory, maxInMemory + 1000} {
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
