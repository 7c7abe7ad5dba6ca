//go:build unix

package lifecycle

import (
	"context"
	"crypto/sha256"
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
	t.Parallel()
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

// TestNoRequestAfterFailure: a session whose start failed ends, also without a request.
func TestNoRequestAfterFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{err: &confine.StartError{Step: confine.StepExec}}, func(s *Session) { s.Linger = 50 * time.Millisecond })
	if status, _ := p.ended(); status != 1 {
		t.Errorf("status %d", status)
	}
}

// TestCrashAtStartup: the request comes before the crash, or after it.
func TestCrashAtStartup(t *testing.T) {
	t.Parallel()
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

// TestRefuse: each request gets the diagnosis, and nothing is started.
func TestRefuse(t *testing.T) {
	t.Parallel()
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
