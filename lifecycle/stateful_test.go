//go:build unix

package lifecycle

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartFailure: each request gets the same error, whenever it comes.
func TestStartFailure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"exec", &confine.StartError{Step: confine.StepExec, Errno: syscall.ENOENT, Detail: "npx"}, 1, "-31001 exec"},
		{"step", &confine.StartError{Step: "landlock", Errno: syscall.EPERM}, 3, "-31005 exec"},
		{"gap", &confine.GapError{Gaps: []confine.Gap{{Axis: policy.AxisNet, What: "hosts", Why: "no namespaces"}}}, 3, "-31005 exec"},
		{"other", os.ErrPermission, 3, "-31005 exec"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := begin(t, &fake{err: tt.err}, nil)
			p.send(`{"id":"a","method":"server/discover"}`)
			if got := failureOf(t, p.line()).String(); got != `"a" `+tt.want {
				t.Errorf("got %s", got)
			}
			p.send(`{"method":"notifications/initialized"}`, initialize)
			if got := failureOf(t, p.line()).String(); got != "0 "+tt.want {
				t.Errorf("got %s", got)
			}
			p.in.Close()
			if rest := p.rest(); rest != "" {
				t.Errorf("then %q", rest)
			}
			status, stderr := p.ended()
			if status != tt.status || p.err != tt.err || !strings.HasPrefix(stderr, "mcp-jail: ") {
				t.Errorf("status %d, error %v, stderr %q", status, p.err, stderr)
			}
			if len(p.record.Diagnoses) != 1 || len(p.record.Profile) != 2*sha256.Size {
				t.Errorf("record %+v", p.record)
			}
		})
	}
}

// TestNobodyAsks: a session that failed does not wait for ever.
func TestNobodyAsks(t *testing.T) {
	p := begin(t, &fake{err: &confine.StartError{Step: confine.StepExec}}, func(s *Session) { s.Linger = 50 * time.Millisecond })
	if status, _ := p.ended(); status != 1 {
		t.Errorf("status %d", status)
	}
}

// TestCrashAtBoot: with the request there before the crash, and after it.
func TestCrashAtBoot(t *testing.T) {
	for _, server := range []string{"crash", "crash-late"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &fake{server: server}, nil)
			if server == "crash" {
				<-waitFor(p)
				time.Sleep(50 * time.Millisecond)
			}
			p.send(initialize)
			if got := failureOf(t, p.line()).String(); got != "0 -31002 boot" {
				t.Errorf("got %s", got)
			}
			p.send(`{"id":1,"method":"ping"}`)
			if got := failureOf(t, p.line()).String(); got != "1 -31002 boot" {
				t.Errorf("got %s", got)
			}
			status, stderr := p.ended()
			if status != 3 {
				t.Errorf("status %d", status)
			}
			if server == "crash" && !strings.Contains(stderr, "/secret/file") {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// waitFor is closed when the process has ended.
func waitFor(p *play) <-chan struct{} {
	for {
		p.fake.mu.Lock()
		proc := p.fake.proc
		p.fake.mu.Unlock()
		if proc != nil {
			return proc.done
		}
		time.Sleep(time.Millisecond)
	}
}

func TestSilentAtBoot(t *testing.T) {
	p := begin(t, &fake{server: "silent"}, func(s *Session) {
		s.Profile.Startup = 300 * time.Millisecond
		s.times.slowNote = 50 * time.Millisecond
	})
	p.send(`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]`, initialize)
	batch := p.line()
	if !strings.HasPrefix(batch, "[{") || strings.Count(batch, "-31006") < 2 || !strings.Contains(batch, `"id":2`) {
		t.Errorf("got %q", batch)
	}
	if got := failureOf(t, p.line()).String(); got != "0 -31006 boot" {
		t.Errorf("got %s", got)
	}
	status, stderr := p.ended()
	if status != 1 || strings.Count(stderr, "waiting for the first answer") != 1 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestSilentUnasked: a server need not speak before it is asked.
func TestSilentUnasked(t *testing.T) {
	p := begin(t, &fake{server: "polite"}, func(s *Session) { s.Profile.Startup = 100 * time.Millisecond })
	time.Sleep(300 * time.Millisecond)
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

func TestDeathDuringCalls(t *testing.T) {
	for server, want := range map[string]int{"exit-in-call": 5, "mid-frame": 128 + 9} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &fake{server: server}, nil)
			p.send(initialize)
			p.line()
			p.send(callLine)
			if got := failureOf(t, p.line()).String(); got != "1 -31003 call t" {
				t.Errorf("got %s", got)
			}
			if rest := p.rest(); rest != "" {
				t.Errorf("then %q", rest)
			}
			status, stderr := p.ended()
			if status != want || !strings.Contains(stderr, "mcp-jail: ") {
				t.Errorf("status %d, stderr %q", status, stderr)
			}
		})
	}
}

// TestForgetful: what the server left unanswered at its end is answered.
func TestForgetful(t *testing.T) {
	p := begin(t, &fake{server: "forgetful"}, nil)
	p.send(initialize)
	p.line()
	p.send(callLine, `[{"id":"x","method":"tools/call","params":{"name":"u"}}]`)
	p.in.Close()
	if got := failureOf(t, p.line()).String(); got != "1 -31003 call t" {
		t.Errorf("got %s", got)
	}
	if got := failureOf(t, strings.Trim(p.line(), "[]\n")).String(); got != `"x" -31003 call u` {
		t.Errorf("got %s", got)
	}
	if status, _ := p.ended(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestCallTimeout: the call is answered, the server is told, its late answer is
// dropped, the session lives on.
func TestCallTimeout(t *testing.T) {
	p := begin(t, &fake{server: "slow"}, func(s *Session) { s.Profile.Call = 100 * time.Millisecond })
	p.send(initialize)
	p.line()
	p.send(callLine)
	if got := failureOf(t, p.line()).String(); got != "1 -31006 call t" {
		t.Errorf("got %s", got)
	}
	time.Sleep(300 * time.Millisecond) // the cancellation follows the answer
	p.send(`{"id":2,"method":"ping"}`)
	if got := p.line(); got != answerTo("2", `{"id":2,"method":"ping"}`) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	if _, stderr := p.ended(); !strings.Contains(stderr, `cancelled {"requestId":1,`) {
		t.Errorf("stderr %q", stderr)
	}
}

// TestSlowRecord: what is written about a failed call does not hold up its answer,
// nor those behind it.
func TestSlowRecord(t *testing.T) {
	free := make(chan struct{})
	var records []int
	p := begin(t, &fake{server: "failing"}, func(s *Session) {
		s.Sink = func(r diagnostics.Record) {
			<-free
			records = append(records, len(r.Diagnoses))
		}
	})
	for range 3 {
		p.send(callLine)
		if got := p.line(); !strings.Contains(got, "[mcp-jail]") {
			t.Errorf("got %q", got)
		}
	}
	close(free)
	p.in.Close()
	p.rest()
	p.ended()
	if n := len(records); n == 0 || records[n-1] != 3 {
		t.Errorf("records of %v diagnoses", records)
	}
}

func TestRefuse(t *testing.T) {
	in, w, _ := os.Pipe()
	r, out, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	defer null.Close()
	w.WriteString(initialize)
	w.Close()
	Refuse(context.Background(), Session{In: in, Out: out, Err: null}, diagnostics.ConfigFailure("x", "mcp-jail.toml:1: wrong"))
	out.Close()
	p := &play{t: t}
	p.use(nil, r)
	if got := failureOf(t, p.line()).String(); got != "0 -31004 exec" {
		t.Errorf("got %s", got)
	}
}

// TestLostRecord: a record that could not be kept is told of once, however often it is
// tried.
func TestLostRecord(t *testing.T) {
	tried, kept := 0, make(chan struct{}, 8)
	p := begin(t, &fake{server: "failing"}, func(s *Session) {
		s.Sink = func(diagnostics.Record) { tried++ }
		s.Lost = func() error {
			kept <- struct{}{}
			if tried == 1 {
				return nil
			}
			return errors.New("no space left")
		}
	})
	for range 2 {
		p.send(callLine)
		p.line()
		<-kept
	}
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	if n := strings.Count(stderr, "mcp-jail: warning: the record of this session cannot be written, so `mcp-jail why` will not have all of it: no space left\n"); n != 1 || tried < 3 {
		t.Errorf("told %d times of %d: %s", n, tried, stderr)
	}
}
