package session

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// TestClientLogs: a request that asks for log messages gets them until it is answered. What is kept for others is bounded.
func TestClientLogs(t *testing.T) {
	var l clientLogs
	open := false
	l.Open = func() bool { return open }
	for i, step := range []struct {
		do   func()
		want bool
	}{
		{func() {}, false},
		{func() { open = true }, true},
		{func() { open = false; l.Answered.Store(true) }, true},
		{func() { l.Answered.Store(false) }, false},
		{func() { l.SetLevel("debug") }, true},
		{func() { l.SetLevel("error") }, false},
		{func() { l.SetLevel("no such level") }, false},
	} {
		if step.do(); l.wants() != step.want {
			t.Errorf("step %d: %t, not %t", i, l.wants(), step.want)
		}
	}
	for i := range 2 * maxUnsentLogs {
		l.keep([]byte{byte(i)})
	}
	if n := len(l.unsent); n != maxUnsentLogs {
		t.Errorf("%d messages are kept", n)
	}
}

// TestRecordOfManyFailures: of more failures than a record has room for, it keeps the last ones.
func TestRecordOfManyFailures(t *testing.T) {
	var r record
	for i := range 2 * maxRecords {
		r.addDiagnosis(diagnostics.Diagnosis{What: strconv.Itoa(i)}, false)
	}
	first, last := r.Diagnoses[0].What, r.Diagnoses[len(r.Diagnoses)-1].What
	if first != strconv.Itoa(maxRecords) || last != strconv.Itoa(2*maxRecords-1) {
		t.Errorf("%d failures, from %s to %s", len(r.Diagnoses), first, last)
	}
}

// TestGapFailureOnMac: a client shows one line. It says that there are several gaps, where macOS has
// them under every policy, and names the flag that accepts them all.
func TestGapFailureOnMac(t *testing.T) {
	names := confine.Gap{Axis: policy.AxisFs, What: "names are hidden", Why: "they can be guessed", Fix: "accept it", Platform: policy.WaiveMacOS}
	survives := confine.Gap{Axis: policy.AxisProcess, What: "no process survives", Why: "one can leave", Fix: "accept it", Platform: policy.WaiveMacOS}
	ports := confine.Gap{Axis: policy.AxisNet, What: "only some ports", Why: "all or none", Fix: "drop them"}
	for _, tt := range []struct {
		gaps      []confine.Gap
		cause     string
		not, flag string
	}{
		{[]confine.Gap{names, survives}, "2 parts of it, as under every policy on macOS, the first of them: names are hidden", "accept it", "--waive macos"},
		{[]confine.Gap{names}, "enforce the policy: names are hidden", "parts", "--waive macos"},
		{[]confine.Gap{ports, names}, "enforce the policy: only some ports", "parts", "--waive net --waive macos"},
	} {
		d := gapFailure("s", &confine.GapError{Gaps: tt.gaps, Waive: confine.WaiversFor(tt.gaps, nil)})
		text := d.Text()
		if !strings.Contains(text, tt.cause) || strings.Contains(text, tt.not) || !strings.Contains(d.Fix, tt.flag) {
			t.Errorf("want %q and %q:\n%s", tt.cause, tt.flag, text)
		}
	}
}

// TestLeakCheckOfProfiles: profiles with the same secrets share a searcher, however many a session has.
// One with another secret has its own, and one without any has none.
func TestLeakCheckOfProfiles(t *testing.T) {
	l := newLeakCheck(&Client{Config: Session{Profile: &policy.Profile{Leaks: policy.LeaksWarn}}})
	of := func(secret, other string) *leak.Searcher {
		return l.For(&policy.Profile{Env: []policy.Variable{{Name: "A_TOKEN", Value: secret, Secret: true}, {Name: policy.StatementVar, Value: other}}}).current()
	}
	const value = "s3cr3t/Value+42-of-a-test"
	first := of(value, "one")
	if first == nil || of(value, "two") != first {
		t.Error("a profile with the same secret has a searcher of its own")
	}
	if of("An0ther/Value+42-of-a-test", "one") == first {
		t.Error("a profile with another secret has the same searcher")
	}
	if of("true", value) != nil {
		t.Error("there is a searcher without a secret")
	}
}

// TestClassify: of the refused reads that only certain reads record, those of before the first
// call are usual ones.
func TestClassify(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		what   string
		call   bool
		denial policy.Denial
		want   bool
	}{
		{"before the call", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1)}, true},
		{"a directory", true, policy.Denial{Axis: policy.AxisFs, Operation: "list", Time: at(-1)}, true},
		{"in the call", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(1)}, false},
		{"in the call again", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1), Last: at(1)}, false},
		{"a write", true, policy.Denial{Axis: policy.AxisFs, Operation: "write", Time: at(-1)}, false},
		{"without a call", false, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1)}, false},
	} {
		first := &begin
		if !c.call {
			first = nil
		}
		all := []policy.Denial{c.denial}
		if classifyReads(false, all, first); all[0].Background || len(withoutReads(false, all)) != 1 {
			t.Errorf("%s, in an ordinary jail: %v", c.what, all[0].Background)
		}
		if classifyReads(true, all, first); all[0].Background != c.want {
			t.Errorf("%s: %v", c.what, all[0].Background)
		}
		if left := withoutReads(true, all); (len(left) == 1) != (c.denial.Operation == "write") {
			t.Errorf("%s: %v is left", c.what, left)
		}
	}
}

// TestUsualHosts: the three ways to learn that a host is a usual one.
func TestUsualHosts(t *testing.T) {
	t.Parallel()
	at := time.Now()
	denials := func(tool string, hosts ...string) (out []policy.Denial) {
		for _, h := range hosts {
			out = append(out, policy.Denial{Axis: policy.AxisNet, Target: h, Tool: tool, Time: at})
		}
		return out
	}
	usual := func(h *usualHosts, first *time.Time, d []policy.Denial) (hosts string) {
		h.classify(d, first)
		for _, d := range d {
			if d.Background {
				hosts += d.Target + " "
			}
		}
		return hosts
	}
	asked := 0
	h := &usualHosts{earlier: func() (diagnostics.Record, bool) {
		asked++
		r := diagnostics.Record{Denials: denials("", "before", "once")}
		r.Denials[0].Background = true
		return r, true
	}}
	if got := usual(h, nil, []policy.Denial{{Axis: policy.AxisFs, Target: "before"}}); got != "" || asked != 0 {
		t.Errorf("a path was held to be a host: %q, %d", got, asked)
	}
	if got := usual(h, nil, denials("a", "before", "once", "a")); got != "before " {
		t.Errorf("of the session before: %q", got)
	}
	if got := usual(h, nil, denials("b", "once", "b")); got != "once " {
		t.Errorf("of two tools: %q", got)
	}
	if got := usual(h, nil, denials("a", "a")); got != "" {
		t.Errorf("of one tool, twice: %q", got)
	}
	h.learn(denials("a", "a"))
	if got := usual(h, nil, denials("a", "a")); got != "a " || asked != 1 {
		t.Errorf("of a call that went well: %q, asked %d times", got, asked)
	}
	later := at.Add(time.Second)
	if got := usual(h, &at, denials("c", "c")) + usual(h, &later, denials("c", "c")); got != "c " {
		t.Errorf("from before the first call: %q", got)
	}
}

// TestUsualPorts: a port of the loopback is a usual one if the server tried it before its first call,
// or in a call that went well.
func TestUsualPorts(t *testing.T) {
	t.Parallel()
	first := time.Now()
	port := func(n int, at time.Time) policy.Unanswered {
		return policy.Unanswered{Host: "localhost", Port: n, Time: at}
	}
	h := &usualHosts{}
	h.learnPorts([]policy.Unanswered{port(2, first.Add(time.Second))})
	got := []policy.Unanswered{port(1, first.Add(-time.Second)), port(2, first.Add(time.Minute)), port(3, first.Add(time.Minute))}
	h.classifyPorts(got, &first)
	if !got[0].Background || !got[1].Background || got[2].Background {
		t.Errorf("%+v", got)
	}
	if h.classifyPorts(got[:1], nil); got[0].Background {
		t.Error("before the first call no port is a usual one")
	}
}
