package mcpproxy

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
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

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`3`, `"3"`, true}, {`"3"`, `3.0`, true}, {`"3.0"`, `3`, true}, {`" 3"`, `3`, true}, {`-1`, `"-1"`, true},
		{`3`, `3`, false}, {`3`, `3.0`, false}, {`3`, `4`, false}, {`3`, `"4"`, false}, {`"a"`, `"b"`, false}, {`null`, `"null"`, true}, {`3`, `null`, false},
	} {
		if got := SameText([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
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
