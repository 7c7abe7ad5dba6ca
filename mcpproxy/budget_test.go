package mcpproxy

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestBudget: a share alone gets half, beside others an eighth, and its floor in any case.
func TestBudget(t *testing.T) {
	b := NewBudget(800)
	fill := func(s *Share) (n int64) {
		for s.Take(10) {
			n += 10
		}
		return n
	}
	one, floor := b.Share(0), b.Share(50)
	var got []int64
	for _, s := range []*Share{one, b.Share(0), b.Share(0), b.Share(0), b.Share(0), b.Share(0), floor} {
		got = append(got, fill(s))
	}
	if fmt.Sprint(got) != "[400 100 100 100 100 0 50]" {
		t.Errorf("the shares got %v", got)
	}
	one.Give(400)
	if n := fill(floor); n != 50 {
		t.Errorf("beside others a share gets %d more", n)
	}
	one.Add(1000)
	if one.Take(1) || floor.Take(1) {
		t.Error("there is room beyond what was added in any case")
	}
}

// TestProxyTooManyRequests: requests of a client beyond its share are told of and not forwarded, and
// those before them have room again when they are answered.
func TestProxyTooManyRequests(t *testing.T) {
	var in, answers bytes.Buffer
	const n = Memory/2/slotBytes + 100
	for i := range n {
		fmt.Fprintf(&in, `{"id":%d,"method":"m"}`+"\n", i)
		fmt.Fprintf(&answers, `{"id":%d,"result":{}}`+"\n", i)
	}
	refused := 0
	p := NewProxy(NewConn(&in, io.Discard, 0), Hooks{TooManyPending: func(from Side, e *Envelope) {
		if from == FromClient && string(e.Method) == "m" {
			refused++
		}
	}})
	var up sink
	testkit.Must(t, p.RunClient(&up))
	if sent := strings.Count(up.String(), "\n"); refused < 100 || sent+refused != n || p.Requests.Len() != sent {
		t.Errorf("%d of %d were refused, %d sent, %d are open", refused, n, sent, p.Requests.Len())
	}
	testkit.Must(t, p.RunServer(NewConn(&answers, io.Discard, 0)))
	if p.Memory.used != 0 || p.Requests.Len() != 0 {
		t.Errorf("%d bytes for %d requests", p.Memory.used, p.Requests.Len())
	}
}
