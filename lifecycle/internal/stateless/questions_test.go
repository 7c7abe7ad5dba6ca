//go:build unix

package stateless

import (
	"cmp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	asksNext = "The next call of this tool asks the user here whether it may."
	yesReply = `{"action":"accept","content":{"answer":"for this session"}}`
)

// asking begins a session whose calls of fail are refused an operation on a file, against which reasons of some kinds speak.
func asking(t *testing.T, operation, path string, kinds ...policy.ReasonKind) (*sessiontest.Fleet, *statelessPlay, *sessiontest.Asker) {
	t.Helper()
	f, a := sessiontest.NewShop(), &sessiontest.Asker{}
	f.Denials = map[string][]policy.Denial{"vague": {{Axis: policy.AxisFs, Operation: operation, Target: path, Count: 2}}}
	p := beginStateless(t, f, func(s *session.Session, _ *Options) {
		sessiontest.Asking(s, a)
		session.TimesOf(s).Question = 20 * time.Second
		s.Known.UserHome, diagnostest.Of(&s.Known).Canonical = "/home/u", func(path string) string { return strings.Replace(path, "/home/u/link", "/home/u/notes", 1) }
		diagnostest.Of(&s.Known).Decide = sessiontest.Deciding(kinds...)
		diagnostest.Of(&s.Known).Exists = func(path string) bool { return operation == "read" || !strings.HasSuffix(path, "/.") }
	})
	p.Send(sessiontest.HelloForms("claude-code", `"elicitation":{}`), sessiontest.Initialized)
	p.Answer("0")
	return f, p, a
}

// TestQuestion: the question about a file comes before a process starts, which has the file after a yes.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reply, kept string
		starts            int
	}{
		{"yes", yesReply, "yes --read ~/link/x; no ", 2},
		{"no", `{"action":"decline"}`, "yes ; no --read ~/link/x", 2},
		{"cancelled", `{"action":"cancel"}`, "yes ; no ", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, p, a := asking(t, "read", "/home/u/link/x")
			sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "vague", "{}")).Line, asksNext)
			p.Send(sessiontest.CallOf("2", "vague", "{}"))
			q := p.Told("elicitation/create")
			sessiontest.Has(t, q.Line, "- to read /home/u/notes/x: it could pass on what is in it", "mcp-jail grant test --tool vague --read ~/link/x")
			if n := f.Started("vague"); n != 1 {
				t.Errorf("%d processes before the answer", n)
			}
			p.Send(sessiontest.ReplyTo(q, tt.reply))
			got := p.Answer("2")
			p.Nothing()
			if n := f.Started("vague"); n != tt.starts || a.Kept() != tt.kept || (got.Error == nil) != (tt.starts == 2) {
				t.Errorf("%d processes, kept %q: %s", n, a.Kept(), got.Line)
			}
		})
		t.Run(tt.name+", in 2026-07-28", func(t *testing.T) {
			t.Parallel()
			f, p, a := asking(t, "read", "/home/u/link/x")
			call := func(id, more string) sessiontest.Said {
				return p.Ask(sessiontest.ModernForms("claude-code", id, "tools/call", `"name":"vague","arguments":{}`+more))
			}
			sessiontest.Has(t, call("1", "").Line, asksNext)
			q := call("2", "")
			_, after, _ := strings.Cut(q.Line, `"requestState":`)
			state, _, _ := strings.Cut(after, "}")
			sessiontest.Has(t, q.Line, `"resultType":"input_required"`, "- to read /home/u/notes/x")
			got := call("3", `,"inputResponses":{"mcp-jail":`+tt.reply+`},"requestState":`+state)
			p.Nothing()
			if n := f.Started("vague"); n != tt.starts || a.Kept() != tt.kept || (got.Error == nil) != (tt.starts == 2) || strings.Contains(f.Saw("vague", 1), "requestState") {
				t.Errorf("%d processes, kept %q: %s", n, a.Kept(), got.Line)
			}
		})
	}
}

// TestQuestionMoved: a path that leads to another place than the one that was asked about is not given.
func TestQuestionMoved(t *testing.T) {
	t.Parallel()
	f, a := sessiontest.NewShop(), &sessiontest.Asker{}
	f.Denials = map[string][]policy.Denial{"vague": {{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/link/x", Count: 2}}}
	var moved atomic.Bool
	p := beginStateless(t, f, func(s *session.Session, _ *Options) {
		sessiontest.Asking(s, a)
		s.Known.UserHome, diagnostest.Of(&s.Known).Exists = "/home/u", func(string) bool { return true }
		diagnostest.Of(&s.Known).Canonical = func(path string) string {
			if moved.Load() {
				return strings.Replace(path, "/home/u/link", "/home/u/diary", 1)
			}
			return strings.Replace(path, "/home/u/link", "/home/u/notes", 1)
		}
	})
	p.Send(sessiontest.HelloForms("claude-code", `"elicitation":{}`), sessiontest.Initialized)
	p.Answer("0")
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "vague", "{}")).Line, asksNext)
	p.Send(sessiontest.CallOf("2", "vague", "{}"))
	q := p.Told("elicitation/create")
	moved.Store(true)
	p.Send(sessiontest.ReplyTo(q, yesReply))
	p.Answer("2")
	if got := a.Kept(); got != "yes ; no " {
		t.Error(got)
	}
}

// TestAskable: only that against which nothing speaks is asked about, and what a dialog shows as it is.
func TestAskable(t *testing.T) {
	t.Parallel()
	const file = "/home/u/notes/x"
	for _, tt := range []struct {
		name, path string
		kind       policy.ReasonKind
		shows      string // "": nothing is asked
		operation  string // "" is read
	}{
		{"fine", file, "", file + ": it could pass on", ""},
		{"with a reason", file, policy.WhyShared, "", ""},
		{"never", file, policy.WhyOfSystem, "", ""},
		{"a sensitive file", file, policy.WhySensitive, "", ""},
		{"a protected file", file, policy.WhyProtected, "", ""},
		{"100 characters", "/home/u/" + strings.Repeat("x", 92), "", "xxx: it could pass on", ""},
		{"101 characters", "/home/u/" + strings.Repeat("x", 93), "", "", ""},
		{"a character that turns the line around", "/home/u/\u202enotes", "", "", ""},
		{"a control", "/home/u/notes\a", "", "", ""},
		{"a write", file, "", "", "write"},
		{"a new file", "/home/u/notes/new", "", "", "create"},
		{"a program", file, "", "", "exec"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var kinds []policy.ReasonKind
			if tt.kind != "" {
				kinds = append(kinds, tt.kind)
			}
			_, p, _ := asking(t, cmp.Or(tt.operation, "read"), tt.path, kinds...)
			first := p.Ask(sessiontest.CallOf("1", "vague", "{}")).Line
			if strings.Contains(first, asksNext) != (tt.shows != "") {
				t.Error(first)
			}
			p.Send(sessiontest.CallOf("2", "vague", "{}"))
			if tt.shows != "" {
				q := p.Told("elicitation/create")
				sessiontest.Has(t, q.Line, tt.shows)
				p.Send(sessiontest.ReplyTo(q, yesReply))
			}
			p.Answer("2")
			p.Nothing()
		})
	}
}

// TestQuestionWithoutAnswer: no process starts for a call whose client cancels it, or leaves, or answers too late.
func TestQuestionWithoutAnswer(t *testing.T) {
	t.Parallel()
	f, p, a := asking(t, "read", "/home/u/notes/x")
	p.Ask(sessiontest.CallOf("1", "vague", "{}"))
	p.Send(sessiontest.CallOf("2", "vague", "{}"))
	q := p.Told("elicitation/create")
	p.Send(cancel("2"))
	sessiontest.Has(t, p.Told("notifications/cancelled").Line, string(q.ID))
	p.Send(sessiontest.ReplyTo(q, yesReply)) // too late
	p.Send(sessiontest.CallOf("3", "vague", "{}"))
	p.Told("elicitation/create")
	rest, _, _ := p.Close()
	sessiontest.Has(t, rest, `"id":3,"error"`, "the tool was not run: the session has ended")
	if n := f.Started("vague"); n != 1 || a.Kept() != "yes ; no " {
		t.Errorf("%d processes, kept %q", n, a.Kept())
	}
}
