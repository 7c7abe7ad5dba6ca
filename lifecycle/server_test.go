//go:build unix

package lifecycle_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateful"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailRemarks: warnings of the jail go to stderr and the record, other remarks to the
// log.
func TestJailRemarks(t *testing.T) {
	t.Parallel()
	warning := confine.Notice{Text: "a port leads nowhere", Warning: true}
	saysOnce(t, &sessiontest.Fake{Server: "polite", Remarks: []confine.Notice{warning, warning, {Text: "this kernel is odd"}}}, "mcp-jail: warning: a port leads nowhere\n", 1)
	saysOnce(t, &sessiontest.Fake{Server: "polite", Remarks: []confine.Notice{{Text: "this kernel is odd"}}}, "odd", 0)
}

// TestSlowBuild: a jail that is slow to build is waited for until the startup timeout, and
// stderr says so.
func TestSlowBuild(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Block: true}, func(s *session.Session) {
		s.Profile.Startup = 2 * time.Second
		session.TimesOf(s).SlowNote, session.TimesOf(s).SlowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.Send(sessiontest.Initialize)
	sessiontest.IsFailure(t, p.Line(), "0 -31005 exec")
	status, stderr := p.Ended()
	if status != 3 || strings.Count(stderr, `building the jail of server "test", for at most 2s`) < 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// saysOnce wants a session to say something to stderr and in its record, so many times.
func saysOnce(t *testing.T, f *sessiontest.Fake, what string, times int) {
	t.Helper()
	var record diagnostics.Record
	p := begin(t, f, func(s *session.Session) { s.Sink = func(r diagnostics.Record) { record = r } })
	p.Send(sessiontest.Initialize)
	p.Line()
	_, stderr, _ := p.Close()
	if recorded := strings.Join(record.Warnings, "\n"); strings.Count(stderr, what) != times || strings.Count("mcp-jail: "+recorded+"\n", what) != times {
		t.Errorf("%q; in the record: %q", stderr, recorded)
	}
}

// TestWaivedGaps: what the user has waived is told once in a session and is on record, also if the
// server is started again. A line that was told before the session is on record alone.
func TestWaivedGaps(t *testing.T) {
	t.Parallel()
	plan := &confine.Plan{Gaps: []confine.Gap{
		{Axis: policy.AxisNet, What: "hosts", Why: "no namespaces", Waived: true},
		{Axis: policy.AxisFs, What: "names", Why: "an old kernel", Waived: true},
		{Axis: policy.AxisFs, What: "modes", Why: "not waived"},
	}}
	lines := session.WaivedWarnings(plan)
	p := begin(t, &sessiontest.Fake{Server: "dies", Plan: plan}, func(s *session.Session) { s.Waived = lines[1:] })
	p.Send(`{"jsonrpc":"2.0","id":0,"method":"server/discover"}`)
	p.Line()
	p.Send(sessiontest.Initialize)
	p.Line()
	_, stderr, _ := p.Close()
	if strings.Count(stderr, "not enforced, as you have accepted: hosts: no namespaces") != 1 || strings.Contains(stderr, "names: ") {
		t.Errorf("stderr %q", stderr)
	}
	if recorded := p.Record.Waived; len(recorded) != 2 || !slices.Contains(recorded, lines[0]) || p.Fake.Starts != 2 {
		t.Errorf("%d starts, recorded %q", p.Fake.Starts, recorded)
	}
}

// TestServerOwnFailure: a failure that the jail did not cause keeps its bytes, and nothing
// is said on stderr. When the client has named its roots, a path outside of them is
// reported as that.
func TestServerOwnFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "guarded"}, nil)
	if got := p.Line(); !strings.Contains(got, "roots/list") {
		t.Fatalf("got %q", got)
	}
	const own = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories: /home/u/.ssh/id_rsa not in /roots/a"}]}}` + "\r\n"
	p.Send(sessiontest.CallLine)
	if got := p.Line(); got != own {
		t.Errorf("before there are roots: %q", got)
	}
	p.Send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[{"uri":"file:///roots/a"},{"uri":"https://example.org/"}]}}`)
	var got string
	for range 100 { // the answer is on its way
		p.Send(sessiontest.CallLine)
		if got = p.Line(); got != own {
			break
		}
	}
	if !strings.HasPrefix(got, strings.TrimSuffix(own, "]}}\r\n")) || !strings.Contains(got, `it is in none of the folders that the client has given it`) || strings.Contains(got, "[[servers") {
		t.Errorf("with roots: %q", got)
	}
	_, stderr, _ := p.Close()
	if strings.Count(stderr, "mcp-jail: t of test failed") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if n := len(p.Record.Diagnoses); n < 2 || !p.Record.Diagnoses[0].Silent() {
		t.Errorf("record %+v", p.Record.Diagnoses)
	}
}

func advertising(s *session.Session) { s.Profile.Roots = session.RootsAdvertise }

// TestAdvertiseLarge: the policy is added to a call that is too large for memory. The last
// line need not end in a newline.
func TestAdvertiseLarge(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) {
		advertising(s)
		session.TimesOf(s).Term = testkit.Patience // a busy machine is no finding
	})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.Send(`{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `,"arguments":{"x":"` + strings.Repeat("y", 5<<20) + `"}}}`)
	p.Line()
	io.WriteString(p.In, `{"id":2,"method":"tools/call","params":{"name":"x","arguments":{"x":"`+strings.Repeat("z", 5<<20)+`"},`+meta+`}}`)
	p.In.Close()
	if rest := p.Rest(); !strings.Contains(rest, `"id":2,"result"`) {
		t.Errorf("got %q", rest)
	}
	_, stderr := p.Ended()
	if !strings.Contains(stderr, `"2026-07-28","dev.mcp-jail/policy":{"version":1,`) || strings.Count(stderr, "…(") != 2 || !strings.HasSuffix(stderr, "}}}}\n") {
		t.Errorf("stderr %q", stderr)
	}
}

// TestAdvertiseInBatch: the policy is added to each call of a batch.
func TestAdvertiseInBatch(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "polite"}, advertising)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.Send(`[{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}, {"id":2,"method":"tools/list","params":{` + meta + `}}, {"id":3,"method":"tools/call","params":{"name":"x",` + meta + `}}]`)
	if got := p.Line(); strings.Count(got, "dev.mcp-jail/policy") != 2 {
		t.Errorf("got %q", got)
	}
	p.Line()
	p.Line()
	p.Close()
}

// TestRootsOfTools: each worker is shown the roots that its tool may read.
func TestRootsOfTools(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{session.RootsOff, session.RootsNarrow, session.RootsAdvertise} {
		t.Run(mode, func(t *testing.T) {
			p := beginStateless(t, sessiontest.NewShop(), func(_ *session.Session, o *stateless.Options) {
				resolve := o.Tool
				o.Tool = func(name string, _ bool) (stateless.Tool, error) {
					tool, err := resolve(name, false)
					tool.Profile.Roots = mode
					path := map[string]string{"ask": "/work/a", "echo": "/work/b"}[name]
					tool.Profile.Entries = []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule, Named: path}}
					return tool, err
				}
			})
			p.Greet() // without the capability roots
			p.Send(sessiontest.CallOf("1", "ask", `{"method":"roots/list"}`))
			want := `/work/a`
			if mode != session.RootsAdvertise {
				p.Send(sessiontest.ReplyTo(p.Told("roots/list"), `{"roots":[{"uri":"file:///work"}]}`))
			}
			if mode == session.RootsOff {
				want = `file:///work\"}`
			}
			l := p.Answer("1").Line
			sessiontest.Has(t, l, want)
			if strings.Contains(l, "/work/b") || mode != session.RootsOff && strings.Contains(l, `file:///work\"`) {
				t.Errorf("it saw %q", l)
			}
			p.Nothing()
		})
	}
}

func TestMain(m *testing.M) { sessiontest.MainOf(m, nil) }

// begin starts a stateful session.
func begin(t testing.TB, f *sessiontest.Fake, change func(*session.Session)) *sessiontest.Play {
	t.Helper()
	return sessiontest.BeginWith(t, f, change, stateful.Run)
}

// beginStateless starts a session each of whose calls has a process of its own.
func beginStateless(t testing.TB, f *sessiontest.Fleet, change func(*session.Session, *stateless.Options)) *sessiontest.Play {
	t.Helper()
	p, s := sessiontest.NewFleetPlay(t, f)
	o := stateless.Options{Version: "test", Tool: func(name string, _ bool) (stateless.Tool, error) {
		return stateless.Tool{Profile: sessiontest.ProfileOf(&s, name)}, nil
	}}
	if change != nil {
		change(&s, &o)
	}
	p.RunFleet(f, s, func(ctx context.Context) confine.Exit { return stateless.Run(ctx, s, o) })
	return p
}
