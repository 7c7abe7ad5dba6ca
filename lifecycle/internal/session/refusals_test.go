package session

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func refusalOf(target string) diagnostics.Diagnosis {
	return diagnostics.Diagnosis{What: "w", Cause: "c", Attribution: diagnostics.Certain, Hints: []diagnostics.Hint{{Axis: policy.AxisFs, Target: target}}}
}

// TestLog: a client is told once of refusals that are alike, and of no more than the limit allows.
// What was held back is counted in the next message, and is told if it happens again.
func TestLog(t *testing.T) {
	r := newRefusalLog()
	r.limit = rate.NewLimiter(0, 2)
	for _, step := range testkit.Table[struct {
		target      string
		sent, again bool
		want        bool
	}](t, "refusals.txt") {
		if _, ok := r.text(refusalOf(step.target), step.sent, step.again); ok != step.want {
			t.Errorf("%+v: %v", step, ok)
		}
	}
	r.limit = rate.NewLimiter(rate.Inf, 0)
	text, ok := r.text(refusalOf("b"), true, false)
	if !ok || !strings.HasSuffix(text, "\n2 more refusals before it were not sent: `mcp-jail why` has them.") {
		t.Errorf("%q, %v", text, ok)
	}
	if text, ok = r.text(refusalOf("c"), true, false); !ok || strings.Contains(text, "not sent") {
		t.Errorf("%q, %v", text, ok)
	}
	if text, ok = r.text(diagnostics.Diagnosis{What: "w"}, true, false); !ok || text != "w" {
		t.Errorf("%q, %v", text, ok)
	}
}

// TestSeen: a denial is told at the second look, unless a diagnosis has told it. Its repetitions
// wait for longer and longer.
func TestSeen(t *testing.T) {
	var s seenRefusals
	d := policy.Denial{Axis: policy.AxisFs, Operation: "create", Target: "/x", Count: 1}
	look := func(count int) bool {
		d.Count = count
		return s.mayHave([]policy.Denial{d}) && s.due(d)
	}
	told := d
	told.Target, told.Count = "/told", 3
	s.tell([]policy.Denial{told})
	first := s.due(told)
	if first || s.due(told) {
		t.Error("what a diagnosis has told is told again")
	}
	if look(1) {
		t.Error("it is told at the first look")
	}
	if !look(1) {
		t.Error("it is not told at the second look")
	}
	if s.mayHave([]policy.Denial{d}) {
		t.Error("there is more to tell")
	}
	again := 0
	for count := 2; count < 200; count++ {
		if look(count) {
			again++
		}
	}
	if again < 3 || again > 8 {
		t.Errorf("repetitions are told %d times", again)
	}
}

// TestAsking: a request that asks is for itself, until its answer or its cancellation. What is kept for
// others is bounded.
func TestAsking(t *testing.T) {
	var a asking
	wants := func(key string) string {
		session, itself := a.wantsOf(key)
		return fmt.Sprint(session, itself, a.wants())
	}
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "false false false"},
		{func() { a.asks("1"); a.asks("2") }, "false true true"},
		{func() { a.answered("1") }, "false false true"},
		{func() { a.IsOpen = func(key string) bool { return key != "2" } }, "false false false"},
		{func() { a.asks("1") }, "false true true"},
		{func() { a.setSession(true) }, "true true true"},
		{func() { a.setSession(false); a.answered("1") }, "false false false"},
	} {
		if step.do(); wants("1") != step.want {
			t.Errorf("step %d: %s, not %s", i, wants("1"), step.want)
		}
	}
	if a.Any() {
		t.Error("a request may have asked")
	}
	for i := range maxOpen + 1 {
		a.asks(fmt.Sprint(i))
		a.keep([]byte{byte(i)})
	}
	if n := len(a.open); n > maxOpen {
		t.Errorf("%d requests", n)
	}
	if n := len(a.setSession(true)) + len(a.setSession(true)); n != maxUnsentRefusals {
		t.Errorf("%d messages", n)
	}
}

// TestQueue: what was added before the end is sent, and what finds no room is dropped.
func TestQueue(t *testing.T) {
	for range 16 { // a select chooses at random
		q, sent := newRefusalQueue(), ""
		for _, m := range []string{"a", "b", "c", "d", "e"} {
			q.Push([]byte(m))
		}
		q.End()
		q.Run(func(m []byte) error { sent += string(m); return nil })
		if sent != "abcd" {
			t.Fatalf("%q was sent", sent)
		}
	}
}
