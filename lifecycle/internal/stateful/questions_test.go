//go:build unix

package stateful

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/markdown"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	askedNext = "The next call of this tool asks the user here whether it may."
	call1     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{}}}`
	call2     = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fetch","arguments":{"n":2}}}`
	call3     = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fetch","arguments":{"n":3}}}`
	yesReply  = `{"action":"accept","content":{"answer":"for this session"}}`
	forms     = `"elicitation":{}`
	aResponse = "saw: \n" // the server got one
)

// refusedAt are the times of refusals, which differ.
var refusedAt = regexp.MustCompile(`"(time|last)":"[^"]*"`)

// asked begins a session with a server that a host is refused, and whose client shows forms.
func asked(t *testing.T, change func(*session.Session, *sessiontest.Fake)) (*sessiontest.Play, *sessiontest.Asker) {
	t.Helper()
	a := &sessiontest.Asker{}
	f := &sessiontest.Fake{Server: "refused", Denials: []policy.Denial{sessiontest.AskedDenial()}}
	return begin(t, f, func(s *session.Session) {
		sessiontest.Asking(s, a)
		session.TimesOf(s).Question = 20 * time.Second
		if change != nil {
			change(s, f)
		}
	}), a
}

// due has a call refused, so that the next one asks.
func due(t *testing.T, p *sessiontest.Play, hello string) string {
	t.Helper()
	p.Send(hello)
	p.Answer("0")
	p.Send(call1)
	return p.Answer("1").Line
}

// TestQuestion: the question comes at the next call of the tool. Only the listed answer is a yes.
func TestQuestion(t *testing.T) {
	t.Parallel()
	const given, denied, open = "yes --net api.example.com; no ", "yes ; no --net api.example.com", "yes ; no "
	for _, tt := range []struct{ name, member, reply, kept, ran string }{
		{"yes", "result", yesReply, given, "it ran"},
		{"no", "result", `{"action":"accept","content":{"answer":"no"}}`, denied, "it ran"},
		{"declined", "result", `{"action":"decline"}`, denied, "it ran"},
		{"accepted, and empty", "result", `{"action":"accept","content":{}}`, denied, "it ran"},
		{"accepted without content", "result", `{"action":"accept"}`, denied, "it ran"},
		{"a no and a yes", "result", `{"action":"accept","content":{"answer":"no","answer":"for this session"}}`, denied, "it ran"},
		{"a yes twice", "result", `{"action":"accept","content":{"answer":"for this session","answer":"for this session"}}`, denied, "it ran"},
		{"two actions", "result", `{"action":"decline","action":"accept","content":{"answer":"for this session"}}`, denied, "it ran"},
		{"a key in another case", "result", `{"action":"accept","content":{"ANSWER":"for this session"}}`, denied, "it ran"},
		{"an action in another case", "result", `{"ACTION":"accept","content":{"answer":"for this session"}}`, denied, "it ran"},
		{"values in another case", "result", `{"action":"ACCEPT","content":{"answer":"For this session"}}`, denied, "it ran"},
		{"an unlisted value", "result", `{"action":"accept","content":{"answer":"yes"}}`, denied, "it ran"},
		{"an empty result", "result", `{}`, denied, "it ran"},
		{"an error", "error", `{"code":-32601,"message":"Method not found"}`, denied, "it ran"},
		{"cancelled", "result", `{"action":"cancel"}`, open, "it did not run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, a := asked(t, nil)
			refused := due(t, p, sessiontest.HelloForms("claude-code", forms))
			if sessiontest.Has(t, refused, askedNext); strings.Contains(refused, "They run this") {
				t.Errorf("it says both that the user is asked and that they run a command: %s", refused)
			}
			p.Send(call2)
			q := p.Told("elicitation/create")
			sessiontest.Has(t, q.Line, `"id":"mcp-jail/`, "The jail has blocked the server test", "to reach api.example.com: it could send there what it can read",
				"mcp-jail grant test --net api.example.com", `"enum":["no","for this session"]`, `"required":["answer"]`)
			p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, q.ID, tt.member, tt.reply))
			got, again := p.Answer("2"), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, yesReply)
			if ran := map[bool]string{true: "it ran", false: "it did not run"}[got.Result != nil]; ran != tt.ran || a.Kept() != tt.kept {
				t.Errorf("%s, kept %q: %s", ran, a.Kept(), got.Line)
			}
			if got.Result == nil {
				sessiontest.Has(t, got.Line, "the tool was not run: the question was cancelled", "dev.mcp-jail/failure")
			}
			p.Send(again) // a second answer changes nothing, and the server does not get it
			_, stderr, _ := p.Close()
			if a.Kept() != tt.kept || strings.Contains(stderr, aResponse) || strings.Contains(stderr, `"n":2`) != (tt.ran == "it ran") {
				t.Errorf("in the end %q: %s", a.Kept(), stderr)
			}
		})
	}
}

// TestShownQuestion: docs/learn.md shows the question as it is.
func TestShownQuestion(t *testing.T) {
	t.Parallel()
	p, _ := asked(t, func(s *session.Session, _ *sessiontest.Fake) { s.Profile.Server = "notes" })
	due(t, p, sessiontest.HelloForms("claude-code", forms))
	p.Send(call2)
	var q struct{ Params struct{ Message string } }
	testkit.Must(t, json.Unmarshal([]byte(p.Told("elicitation/create").Line), &q))
	shown := ""
	for _, b := range markdown.Parse("learn.md", testkit.ReadFile(t, "../../../docs/learn.md")).Blocks {
		if b.Kind == markdown.Code && strings.HasPrefix(b.Text, "The jail has blocked") {
			shown = strings.TrimSpace(b.Text)
		}
	}
	testkit.Equal(t, "docs/learn.md", shown, q.Params.Message)
	p.Close()
}

// ruled gives the server of a session a rule for a host.
func ruled(r policy.NetRule) func(*session.Session, *sessiontest.Fake) {
	return func(s *session.Session, _ *sessiontest.Fake) { s.Profile.Net = append(s.Profile.Net, r) }
}

// TestNothingAsked: with another client, and where nothing could be given, the session is that of one which does not
// ask, byte by byte.
func TestNothingAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hello string
		change      func(*session.Session, *sessiontest.Fake)
	}{
		{"no capability", sessiontest.HelloForms("claude-code", `"roots":{}`), nil},
		{"forms of a page alone", sessiontest.HelloForms("claude-code", `"elicitation":{"url":{}}`), nil},
		{"a client that is not known to show forms", sessiontest.HelloForms("claude-ai", forms), nil},
		{"a host against which something speaks", sessiontest.HelloForms("claude-code", forms), func(s *session.Session, _ *sessiontest.Fake) {
			diagnostest.Of(&s.Known).Decide = sessiontest.Deciding(policy.WhyProxy)
		}},
		{"the server's words alone", sessiontest.HelloForms("claude-code", forms), func(_ *session.Session, f *sessiontest.Fake) { f.Denials = nil }},
		{"a private address", sessiontest.HelloForms("claude-code", forms), func(_ *session.Session, f *sessiontest.Fake) { f.Denials[0].Target = "192.168.1.1:443" }},
		{"this machine", sessiontest.HelloForms("claude-code", forms), func(_ *session.Session, f *sessiontest.Fake) { f.Denials[0].Target = "localhost:443" }},
		{"another port", sessiontest.HelloForms("claude-code", forms), func(_ *session.Session, f *sessiontest.Fake) { f.Denials[0].Target = "api.example.com:8443" }},
		{"a host with a rule", sessiontest.HelloForms("claude-code", forms), ruled(policy.NetRule{Host: "api.example.com", Scheme: "https", Methods: []string{"GET"}, Allow: true})},
		{"a host with a rule for another port", sessiontest.HelloForms("claude-code", forms), ruled(policy.NetRule{Host: "api.example.com", Port: 22, Allow: true})},
		{"a host with a wide rule", sessiontest.HelloForms("claude-code", forms), ruled(policy.NetRule{Host: "*.example.com", Port: 8443, Allow: true})},
		{"a host that is denied at another port", sessiontest.HelloForms("claude-code", forms), ruled(policy.NetRule{Host: "api.example.com", Port: 22})},
		{"a long name", sessiontest.HelloForms("claude-code", forms), func(_ *session.Session, f *sessiontest.Fake) {
			f.Denials[0].Target = strings.Repeat("long.", 20) + "example.com:443"
		}},
		{"a write", sessiontest.HelloForms("claude-code", forms), func(s *session.Session, f *sessiontest.Fake) {
			diagnostest.Of(&s.Known).Canonical = func(path string) string { return path }
			f.Server = "fails"
			f.Denials[0] = policy.Denial{Axis: policy.AxisFs, Operation: "write", Target: "/home/u/notes/x", Count: 2}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			said := func(asker bool) string {
				p, _ := asked(t, func(s *session.Session, f *sessiontest.Fake) {
					if tt.change != nil {
						tt.change(s, f)
					}
					if !asker {
						s.Asker = nil
					}
				})
				first := due(t, p, tt.hello)
				p.Send(call2)
				second := p.Answer("2").Line
				p.Nothing()
				return first + second
			}
			with, without := said(true), said(false)
			if refusedAt.ReplaceAllString(with, "") != refusedAt.ReplaceAllString(without, "") || strings.Contains(with, askedNext) {
				t.Errorf("with questions:\n%s\nwithout:\n%s", with, without)
			}
		})
	}
}

// TestAllowedStarts: after a yes a stateful server is started again, and the call that has waited is answered then.
func TestAllowedStarts(t *testing.T) {
	t.Parallel()
	for heir, why := range map[string]string{"new": "it is started again with what was allowed", "new-locked": "it could not be started again with what was allowed"} {
		t.Run(heir, func(t *testing.T) {
			t.Parallel()
			took := make(chan bool, 10)
			p, a := asked(t, func(s *session.Session, f *sessiontest.Fake) {
				f.Server, f.Heirs = "old-refused", []string{heir}
				s.Refresh = func() session.Refreshed { return session.Refreshed{} }
			})
			a.Next = &session.Next{Profile: &policy.Profile{Server: "test", Startup: testkit.Patience, Limits: policy.DefaultLimits}, Done: func(is bool) { took <- is }}
			due(t, p, sessiontest.HelloForms("claude-code", forms))
			p.Send(call2)
			q := p.Told("elicitation/create")
			sessiontest.Has(t, q.Line, "It is then started again, and forgets what it holds in memory.")
			p.Send(sessiontest.ReplyTo(q, yesReply))
			sessiontest.Has(t, p.Answer("2").Line, "the tool was not run: "+why+". Call it again")
			if is := <-took; is != (heir == "new") {
				t.Errorf("the client has the new process: %v", is)
			}
			if got := p.Ask(sessiontest.CallOf("3", "t", "{}")); strings.Contains(got.Line, `"by":"new"`) != (heir == "new") {
				t.Error(got.Line)
			} else if strings.Contains(got.Line, askedNext) != (heir != "new") {
				t.Errorf("asked again: %s", got.Line)
			}
			if _, stderr, _ := p.Close(); strings.Contains(stderr, `"n":2`) {
				t.Error("the call that has waited ran: " + stderr)
			}
		})
	}
}

// TestNoAnswer: while nobody has answered, nothing runs, and the answer says so.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T, limit time.Duration) (*sessiontest.Play, *sessiontest.Asker, sessiontest.Said) {
		p, a := asked(t, func(s *session.Session, _ *sessiontest.Fake) { session.TimesOf(s).Question = limit })
		due(t, p, sessiontest.HelloForms("claude-code", forms))
		p.Send(call2)
		return p, a, p.Told("elicitation/create")
	}
	const notRun = `"error":{`
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		p, a, q := begun(t, 50*time.Millisecond)
		sessiontest.Has(t, p.Told("notifications/cancelled").Line, string(q.ID))
		sessiontest.Has(t, p.Answer("2").Line, notRun, "the tool was not run: nobody has answered")
		p.Send(sessiontest.ReplyTo(q, yesReply))
		p.Send(call3)
		again := p.Told("elicitation/create") // it is asked again
		if string(again.ID) == string(q.ID) || a.Kept() != "yes ; no " {
			t.Errorf("%s, %s", again.Line, a.Kept())
		}
		p.Send(sessiontest.ReplyTo(again, yesReply))
		p.Answer("3")
		if _, stderr, _ := p.Close(); strings.Contains(stderr, `"n":2`) || strings.Contains(stderr, aResponse) {
			t.Errorf("the server got what it must not: %s", stderr)
		}
	})
	t.Run("the client cancels the call", func(t *testing.T) {
		t.Parallel()
		p, a, q := begun(t, time.Minute)
		p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		sessiontest.Has(t, p.Told("notifications/cancelled").Line, string(q.ID))
		p.Send(sessiontest.ReplyTo(q, yesReply))
		if stderr := p.Nothing(); strings.Contains(stderr, `"n":2`) || strings.Contains(stderr, "cancelled") || a.Kept() != "yes ; no " {
			t.Errorf("%s, %s", stderr, a.Kept())
		}
	})
	t.Run("the client leaves", func(t *testing.T) {
		t.Parallel()
		p, _, _ := begun(t, time.Minute)
		rest, stderr, _ := p.Close()
		sessiontest.Has(t, rest, notRun, "the tool was not run: the session has ended")
		if strings.Contains(stderr, `"n":2`) {
			t.Error("the call ran: " + stderr)
		}
	})
	t.Run("the server dies", func(t *testing.T) {
		t.Parallel()
		p, _, _ := begun(t, time.Minute)
		p.Fake.Proc.Kill()
		sessiontest.Has(t, p.Answer("2").Line, notRun, "the tool was not run: the session has ended")
		p.Ended()
	})
}

// TestFlood: one question is open at a time, there are three in all, and what was answered no is not asked again.
func TestFlood(t *testing.T) {
	t.Parallel()
	p, a := asked(t, nil)
	due(t, p, sessiontest.HelloForms("claude-code", forms))
	p.Send(call2, call3)
	q := p.Told("elicitation/create")
	p.Answer("3") // it does not wait
	p.Send(sessiontest.ReplyTo(q, `{"action":"accept","content":{"answer":"no"}}`))
	p.Answer("2")
	for n := 4; n < 8; n++ {
		if got := p.Ask(sessiontest.CallOf(fmt.Sprint(n), "fetch", "{}")); strings.Contains(got.Line, askedNext) && n > 4 {
			t.Errorf("asks again after a no: %s", got.Line)
		}
	}
	if p.Nothing(); a.Kept() != "yes ; no --net api.example.com" {
		t.Error(a.Kept())
	}
}

// TestJoined: what one call lacked is one question.
func TestJoined(t *testing.T) {
	t.Parallel()
	p, a := asked(t, func(_ *session.Session, f *sessiontest.Fake) {
		second := sessiontest.AskedDenial()
		second.Target = "cdn.example.com:443"
		f.Server, f.Denials = "refused-two", append(f.Denials, second)
	})
	due(t, p, sessiontest.HelloForms("claude-code", forms))
	p.Send("[" + call2 + "]") // before a batch nothing is asked
	sessiontest.Has(t, p.Line(), `"id":2,"result"`)
	p.Send(call3)
	q := p.Told("elicitation/create")
	sessiontest.Has(t, q.Line, "- to reach api.example.com: ", "- to reach cdn.example.com: ", "grant test --net api.example.com --net cdn.example.com")
	p.Send(sessiontest.ReplyTo(q, yesReply))
	for _, again := range []string{p.Answer("3").Line, p.Ask(sessiontest.CallOf("4", "fetch", "{}")).Line} {
		if strings.Contains(again, askedNext) { // what was allowed, and is refused for another reason
			t.Error("asks again after a yes: " + again)
		}
	}
	if p.Nothing(); a.Kept() != "yes --net api.example.com, --net cdn.example.com; no " {
		t.Error(a.Kept())
	}
}

// TestServerFloods: a server that is refused more and more has three questions, each with three objects at most, and
// its own questions do not pile up.
func TestServerFloods(t *testing.T) {
	t.Parallel()
	p, a := asked(t, func(_ *session.Session, f *sessiontest.Fake) {
		f.Server, f.Denials = "refused-many", nil
		for n := range 40 {
			d := sessiontest.AskedDenial()
			d.Target = fmt.Sprintf("h%d.example.com:443", n)
			f.Denials = append(f.Denials, d)
		}
	})
	p.Send(sessiontest.HelloForms("claude-code", forms))
	p.Answer("0")
	questions := 0
	for n := range 40 {
		p.Send(sessiontest.CallOf(fmt.Sprint(n+1), fmt.Sprintf("cannot reach h%d.example.com, h1.example.com, h3.example.com, h5.example.com, h7.example.com", n%8), "{}"))
		got := p.Take("an answer or a question", func(s sessiontest.Said) bool { return s.ID != nil })
		if got.Method == "elicitation/create" {
			questions++
			if n := strings.Count(got.Line, "- to reach "); n == 0 || n > 3 {
				t.Errorf("%d objects: %s", n, got.Line)
			}
			p.Send(sessiontest.ReplyTo(got, yesReply))
			p.Answer(fmt.Sprint(n + 1))
		}
	}
	if p.Nothing(); questions != 3 {
		t.Errorf("%d questions, %s", questions, a.Kept())
	}
}

// TestServersOwnQuestion: an open question of ours holds nothing of the server back. Ours waits for the server's.
func TestServersOwnQuestion(t *testing.T) {
	t.Parallel()
	p, a := asked(t, nil)
	due(t, p, sessiontest.HelloForms("claude-code", forms))
	p.Send(call2)
	q := p.Told("elicitation/create")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/ask"}`)
	its := p.Told("elicitation/create")
	if got := p.Ask(sessiontest.CallOf("9", "send", "{}")); got.Result == nil {
		t.Error(got.Line)
	}
	p.Send(sessiontest.ReplyTo(q, `{"action":"cancel"}`))
	p.Answer("2")
	if got := p.Ask(call3); got.Result == nil || a.Kept() != "yes ; no " { // the server's is open
		t.Errorf("%s, %s", got.Line, a.Kept())
	}
	p.Send(sessiontest.ReplyTo(its, yesReply)) // the control: it comes, and its answer goes to the server
	if got := p.Ask(sessiontest.CallOf("5", "fetch", "{}")); got.Result == nil || a.Kept() != "yes ; no " {
		t.Errorf("%s, %s", got.Line, a.Kept())
	}
	time.Sleep(2100 * time.Millisecond)
	p.Send(sessiontest.CallOf("4", "fetch", "{}"))
	p.Send(sessiontest.ReplyTo(p.Told("elicitation/create"), yesReply))
	p.Answer("4")
	if _, stderr, _ := p.Close(); strings.Count(stderr, aResponse) != 1 {
		t.Error(stderr)
	}
	if a.Kept() != "yes --net api.example.com; no " {
		t.Error(a.Kept())
	}
}

// TestAutomatic: an answer that no person can give as fast is a no.
func TestAutomatic(t *testing.T) {
	t.Parallel()
	p, a := asked(t, func(s *session.Session, _ *sessiontest.Fake) { session.TimesOf(s).Automatic = time.Minute })
	due(t, p, sessiontest.HelloForms("claude-code", forms))
	p.Send(call2)
	p.Send(sessiontest.ReplyTo(p.Told("elicitation/create"), yesReply))
	p.Answer("2")
	if p.Nothing(); a.Kept() != "yes ; no --net api.example.com" {
		t.Error(a.Kept())
	}
}

// TestModernQuestion: in 2026-07-28 the call is answered with the question, and sent again with the answer.
func TestModernQuestion(t *testing.T) {
	t.Parallel()
	const params = `"name":"fetch","arguments":{"n":2}`
	state := func(t *testing.T, line string) string {
		_, after, _ := strings.Cut(line, `"requestState":`)
		s, _, ok := strings.Cut(after, "}")
		if !ok {
			t.Fatal(line)
		}
		return s
	}
	retry := func(params, state, reply string) string {
		return params + `,"inputResponses":{"mcp-jail":` + reply + `},"requestState":` + state
	}
	for _, tt := range []struct {
		name    string
		retry   func(state string) string
		kept    string
		has     string
		reached bool
	}{
		{"yes", func(s string) string { return retry(params, s, yesReply) }, "yes --net api.example.com; no ", "EAI_AGAIN", true},
		{"no", func(s string) string { return retry(params, s, `{"action":"decline"}`) }, "yes ; no --net api.example.com", "EAI_AGAIN", true},
		{"empty", func(s string) string { return retry(params, s, `{}`) }, "yes ; no --net api.example.com", "EAI_AGAIN", true},
		{"cancelled", func(s string) string { return retry(params, s, `{"action":"cancel"}`) }, "yes ; no ", "the tool was not run: the question was cancelled", false},
		{"other arguments", func(s string) string { return retry(`"name":"fetch","arguments":{"n":9}`, s, yesReply) }, "yes ; no ", "that of another call", false},
		{"another tool", func(s string) string { return retry(`"name":"send","arguments":{"n":2}`, s, yesReply) }, "yes ; no ", "that of another call", false},
		{"a state that is not ours", func(string) string { return retry(params, `"mcp-jail/guessed"`, yesReply) }, "yes ; no ", "EAI_AGAIN", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, a := asked(t, nil)
			call := func(id, params string) sessiontest.Said {
				return p.Ask(sessiontest.ModernForms("claude-code", id, "tools/call", params))
			}
			sessiontest.Has(t, call("1", params).Line, askedNext)
			q := call("2", params)
			sessiontest.Has(t, q.Line, `"resultType":"input_required","inputRequests":{"mcp-jail":{"method":"elicitation/create"`, "to reach api.example.com")
			got := call("3", tt.retry(state(t, q.Line)))
			sessiontest.Has(t, got.Line, tt.has)
			if tt.name != "a state that is not ours" {
				sessiontest.Has(t, call("4", retry(params, state(t, q.Line), yesReply)).Line, "was used before")
			}
			_, stderr, _ := p.Close()
			if a.Kept() != tt.kept || strings.Count(stderr, `"n":2`)+strings.Count(stderr, `"n":9`) > 1 != tt.reached || strings.Contains(stderr, "inputResponses") != (tt.name == "a state that is not ours") {
				t.Errorf("%s: %s", a.Kept(), stderr)
			}
		})
	}
}

// TestServersOwnInput: a result of the server that asks for input comes at once, and its answer is none to our question.
func TestServersOwnInput(t *testing.T) {
	t.Parallel()
	p, a := asked(t, nil)
	request := func(id, params string) string {
		return sessiontest.ModernForms("claude-code", id, "tools/call", params)
	}
	const fetch, its = `"name":"fetch","arguments":{}`, `"name":"its-form","arguments":{}`
	sessiontest.Has(t, p.Ask(request("1", its)).Line, `"requestState":"its"`) // the control: it comes at once
	p.Ask(request("2", fetch))
	_, after, _ := strings.Cut(p.Ask(request("3", fetch)).Line, `"requestState":`)
	state, _, _ := strings.Cut(after, "}")
	sessiontest.Has(t, p.Ask(request("4", its)).Line, `"requestState":"its"`)
	p.Ask(request("5", its+`,"inputResponses":{"mcp-jail":`+yesReply+`},"requestState":"its"`))
	if a.Kept() != "yes ; no " {
		t.Error("an answer to the server's question ended ours: " + a.Kept())
	}
	p.Ask(request("6", fetch+`,"inputResponses":{"mcp-jail":`+yesReply+`},"requestState":`+state))
	if p.Nothing(); a.Kept() != "yes --net api.example.com; no " {
		t.Error(a.Kept())
	}
}
