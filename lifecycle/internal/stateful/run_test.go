//go:build unix

package stateful

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
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
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
			p := begin(t, &sessiontest.Fake{Err: tt.err}, nil)
			p.Send(`{"id":"a","method":"server/discover"}`)
			sessiontest.IsFailure(t, p.Line(), `"a" `+tt.want)
			p.Send(`{"method":"notifications/initialized"}`, sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), "0 "+tt.want)
			p.In.Close()
			if rest := p.Rest(); rest != "" {
				t.Errorf("then %q", rest)
			}
			status, stderr := p.Ended()
			if status != tt.status || p.Err != tt.err || !strings.HasPrefix(stderr, "mcp-jail: ") {
				t.Errorf("status %d, error %v, stderr %q", status, p.Err, stderr)
			}
			if len(p.Record.Diagnoses) != 1 || len(p.Record.Profile) != 2*sha256.Size {
				t.Errorf("record %+v", p.Record)
			}
		})
	}
}

// TestNoRequestAfterFailure: a session whose start failed ends, also without a request.
func TestNoRequestAfterFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Err: &confine.StartError{Step: confine.StepExec}}, func(s *session.Session) { s.Linger = 50 * time.Millisecond })
	if status, _ := p.Ended(); status != 1 {
		t.Errorf("status %d", status)
	}
}

// TestCrashAtStartup: the request comes before the crash, or after it.
func TestCrashAtStartup(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"crash", "crash-late"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, nil)
			if server == "crash" {
				<-sessiontest.WaitFor(p)
				time.Sleep(50 * time.Millisecond)
			}
			p.Send(sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), "0 -31002 boot")
			p.Send(`{"id":1,"method":"ping"}`)
			sessiontest.IsFailure(t, p.Line(), "1 -31002 boot")
			status, stderr := p.Ended()
			if status != 3 {
				t.Errorf("status %d", status)
			}
			if server == "crash" && !strings.Contains(stderr, "/secret/file") {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestRefuse: each request gets the diagnosis, and nothing is started.
func TestRefuse(t *testing.T) {
	t.Parallel()
	in, w, _ := os.Pipe()
	r, out, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	defer null.Close()
	w.WriteString(sessiontest.Initialize)
	w.Close()
	Refuse(context.Background(), session.Session{In: in, Out: out, Err: null}, diagnostics.ConfigFailure("x", "mcp-jail.toml:1: wrong"))
	out.Close()
	p := &sessiontest.Play{T: t}
	p.Use(nil, r)
	sessiontest.IsFailure(t, p.Line(), "0 -31004 exec")
}
