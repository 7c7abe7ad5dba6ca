//go:build unix

package stateless

import (
	"cmp"
	"strings"
	"testing"
	"time"

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
	for _, kind := range kinds {
		a.Reasons = append(a.Reasons, policy.Reason{Kind: kind})
	}
	f.Denials = map[string][]policy.Denial{"fail": {{Axis: policy.AxisFs, Operation: operation, Target: path, Count: 2}}}
	p := beginStateless(t, f, func(s *session.Session, _ *Options) {
		sessiontest.Asking(s, a)
		session.TimesOf(s).Question = 20 * time.Second
		s.Known.UserHome, s.Known.Canonical = "/home/u", func(path string) string { return strings.Replace(path, "/home/u/link", "/home/u/notes", 1) }
		s.Known.Exists = func(path string) bool { return operation == "read" || !strings.HasSuffix(path, "/.") }
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
			sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "fail", "{}")).Line, asksNext)
			p.Send(sessiontest.CallOf("2", "fail", "{}"))
			q := p.Told("elicitation/create")
			sessiontest.Has(t, q.Line, "- to read /home/u/notes/x: it could pass on what is in it", "mcp-jail grant test --tool fail --read ~/link/x")
			if n := f.Started("fail"); n != 1 {
				t.Errorf("%d processes before the answer", n)
			}
			p.Send(sessiontest.ReplyTo(q, tt.reply))
			got := p.Answer("2")
			p.Nothing()
			if n := f.Started("fail"); n != tt.starts || a.Kept() != tt.kept || (got.Error == nil) != (tt.starts == 2) {
				t.Errorf("%d processes, kept %q: %s", n, a.Kept(), got.Line)
			}
		})
		t.Run(tt.name+", in 2026-07-28", func(t *testing.T) {
			t.Parallel()
			f, p, a := asking(t, "read", "/home/u/link/x")
			call := func(id, more string) sessiontest.Said {
				return p.Ask(sessiontest.ModernForms("claude-code", id, "tools/call", `"name":"fail","arguments":{}`+more))
			}
			sessiontest.Has(t, call("1", "").Line, asksNext)
			q := call("2", "")
			_, after, _ := strings.Cut(q.Line, `"requestState":`)
			state, _, _ := strings.Cut(after, "}")
			sessiontest.Has(t, q.Line, `"resultType":"input_required"`, "- to read /home/u/notes/x")
			got := call("3", `,"inputResponses":{"mcp-jail":`+tt.reply+`},"requestState":`+state)
			p.Nothing()
			if n := f.Started("fail"); n != tt.starts || a.Kept() != tt.kept || (got.Error == nil) != (tt.starts == 2) || strings.Contains(f.Saw("fail", 1), "requestState") {
				t.Errorf("%d processes, kept %q: %s", n, a.Kept(), got.Line)
			}
		})
	}
}

// TestAskable: only what nothing speaks against is asked about, and what a dialog shows as it is.
func TestAskable(t *testing.T) {
	t.Parallel()
	const file = "/home/u/notes/x"
	for _, tt := range []struct {
		name, path string
		kinds      []policy.ReasonKind
		shows      string // "": nothing is asked
		operation  string // "" is read
	}{
		{"fine", file, nil, file + ": it could pass on", ""},
		{"directly in the home", file, []policy.ReasonKind{policy.WhyInHome}, "", ""},
		{"never", file, []policy.ReasonKind{policy.WhyOfSystem}, "", ""},
		{"a sensitive file", file, []policy.ReasonKind{policy.WhySensitive}, "", ""},
		{"a protected file", file, []policy.ReasonKind{policy.WhyProtected}, "", ""},
		{"100 characters", "/home/u/" + strings.Repeat("x", 92), nil, "xxx: it could pass on", ""},
		{"101 characters", "/home/u/" + strings.Repeat("x", 93), nil, "", ""},
		{"a character that turns the line around", "/home/u/\u202enotes", nil, "", ""},
		{"a control", "/home/u/notes\a", nil, "", ""},
		{"a write", file, nil, "", "write"},
		{"a new file", "/home/u/notes/new", nil, "", "create"},
		{"a program", file, nil, "", "exec"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, p, _ := asking(t, cmp.Or(tt.operation, "read"), tt.path, tt.kinds...)
			first := p.Ask(sessiontest.CallOf("1", "fail", "{}")).Line
			if strings.Contains(first, asksNext) != (tt.shows != "") {
				t.Error(first)
			}
			p.Send(sessiontest.CallOf("2", "fail", "{}"))
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
	p.Ask(sessiontest.CallOf("1", "fail", "{}"))
	p.Send(sessiontest.CallOf("2", "fail", "{}"))
	q := p.Told("elicitation/create")
	p.Send(cancel("2"))
	sessiontest.Has(t, p.Told("notifications/cancelled").Line, string(q.ID))
	p.Send(sessiontest.ReplyTo(q, yesReply)) // too late
	p.Send(sessiontest.CallOf("3", "fail", "{}"))
	p.Told("elicitation/create")
	rest, _, _ := p.Close()
	sessiontest.Has(t, rest, `"id":3,"error"`, "the tool was not run: the session has ended")
	if n := f.Started("fail"); n != 1 || a.Kept() != "yes ; no " {
		t.Errorf("%d processes, kept %q", n, a.Kept())
	}
}
