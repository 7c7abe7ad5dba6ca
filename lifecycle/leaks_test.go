//go:build unix

package lifecycle_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

const leaked = "s3cr3t/Value+42-of-a-test"

// openLeaky begins a session with a server that says what it is asked to, and a secret.
func openLeaky(t *testing.T, kind, leaks string) *sessiontest.Play {
	t.Helper()
	secret := func(s *session.Session) {
		s.Profile.Leaks = leaks
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}, {Name: "MY_SIZE_KEY", Value: "12345678", Secret: true}}
	}
	var p *sessiontest.Play
	if kind == "stateful" {
		p = begin(t, &sessiontest.Fake{Server: "menu"}, secret)
	} else {
		p = beginStateless(t, &sessiontest.Fleet{Servers: map[string]string{"": "menu"}}, func(s *session.Session, o *stateless.Options) {
			secret(s)
			o.Declared = func() []string { return []string{"a"} }
		})
	}
	p.Send(sessiontest.GreetMenu("0", "Be kind.", "{}"), sessiontest.Initialized)
	sessiontest.Has(t, p.Answer("0").Line, `"Be kind."`)
	return p
}

// messages are lines of a server with something in them, by what is said of each. The last line of
// each is the answer to the request for it.
func leakyMessages(text string) map[string]string {
	x, blanks := strings.Repeat("x", 4<<20), strings.Repeat(" ", 64<<10)
	const answer = "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`
	return map[string]string{
		"an answer":                       `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","description":"` + text + `"}]}}`,
		"an error":                        `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"x","data":{"text":"` + text + `"}}}`,
		"a log message":                   `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + text + `"}}` + answer,
		"a notification":                  `{"jsonrpc":"2.0","method":"notifications/other","params":{"x":"` + text + `"}}` + answer,
		"a large answer":                  `{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"x":"` + x + text + blanks + `"}}`,
		"client (sampling/createMessage)": `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"` + text + `"}}` + answer,
		"client (elicitation/create)":     `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"x":"` + text + `"}}` + answer,
	}
}

// TestLeaksWarn: what has a secret passes as it is, and is told once for each kind of message.
func TestLeaksWarn(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p := openLeaky(t, kind, policy.LeaksWarn)
		p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"info"}`))
		n := 10
		for place, line := range leakyMessages(leaked) {
			for again := range 2 {
				if place == "a large answer" && again > 0 {
					continue
				}
				n++
				id := fmt.Sprint(n)
				p.Send(sessiontest.ListOf(id, "raw "+line))
				got := p.Answer(id).Line
				if own := line[strings.LastIndexByte(line, '\n')+1:]; kind == "stateful" && got != strings.ReplaceAll(own, "ID", id)+"\n" {
					t.Errorf("%s: %.200q", place, got)
				}
			}
		}
		sessiontest.Has(t, p.Told("notifications/message").Line, `"logger":"mcp-jail"`, "MY_TOKEN", `"_meta":{"dev.mcp-jail/warning":true}`)
		_, stderr, _ := p.Close()
		for place := range leakyMessages("") {
			if place == "a large answer" {
				continue // it is an answer
			}
			if n := strings.Count(stderr, place+"."); n != 1 {
				t.Errorf("%s: told %d times in %q", place, n, stderr)
			}
		}
		sessiontest.Has(t, stderr, `mcp-jail: warning: test sends the value of MY_TOKEN (as it is) in an answer. If it must not be there, replace the secret. leaks = "block" under [servers.test] blocks such messages`)
		sessiontest.Has(t, p.Record.Text(func(diagnostics.Record) string { return "" }, true), "MY_TOKEN")
		if b, err := p.Record.Encode(); err != nil || strings.Contains(stderr+string(b), leaked) || strings.Contains(string(b), "MY_SIZE") {
			t.Errorf("the record is %s, %v", b, err)
		}
	})
}

// TestLeaksBlock: what has a secret does not pass. Who waits for it gets an error.
func TestLeaksBlock(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p := openLeaky(t, kind, policy.LeaksBlock)
		n := 10
		for place, line := range leakyMessages(base64.StdEncoding.EncodeToString([]byte("x:" + leaked))) {
			n++
			id := fmt.Sprint(n)
			p.Send(sessiontest.ListOf(id, "raw "+line))
			got := p.Answer(id).Line
			if strings.Contains(line, "\n") {
				sessiontest.Has(t, got, `"tools":[]`)
				continue
			}
			if f := sessiontest.FailureOf(t, got).String(); !strings.HasPrefix(f, id+" -31008") {
				t.Errorf("%s: %s", place, f)
			}
			sessiontest.Has(t, got, "the value of MY_TOKEN (in base64)", `leaks = \"warn\" under [servers.test]`)
		}
		// The control: a text that is like it passes.
		p.Send(sessiontest.ListOf("9", "raw "+leakyMessages(leaked[1:])["an answer"]))
		sessiontest.Has(t, p.Answer("9").Line, leaked[1:])
		rest, stderr, _ := p.Close()
		if strings.Contains(rest, "sampling") || strings.Contains(rest, "notifications/") || strings.Contains(stderr, leaked) {
			t.Errorf("the client was sent %q, stderr %q", rest, stderr)
		}
		sessiontest.Has(t, stderr, `in a notification, which was dropped, since leaks is "block"`, `in a log message, which was dropped`, `a request to the client (sampling/createMessage) of test was not passed on`)
	})
}

// TestLeaksInKeptLists tests that what a session answers from the lists of an earlier one is searched too, before
// any process has started.
func TestLeaksInKeptLists(t *testing.T) {
	t.Parallel()
	plain := beginStateless(t, sessiontest.NewShop(), nil)
	list := plain.Opening()
	plain.Nothing()
	at := strings.Index(list, `"tools"`) // the secret is a part of a list, by chance
	lists := t.TempDir() + "/lists"
	secret := func(s *session.Session, o *stateless.Options) {
		s.Profile.Leaks = policy.LeaksWarn
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: list[at : at+18], Secret: true}}
		o.Lists = lists
	}
	for n := range 2 {
		f := sessiontest.NewShop()
		f.Gate = make(chan struct{}) // until then no process is started
		if n == 0 {
			close(f.Gate)
		}
		p := beginStateless(t, f, secret)
		p.Opening()
		if n == 1 {
			close(f.Gate)
		}
		if _, stderr, _ := p.Close(); strings.Count(stderr, "sends the value of MY_TOKEN (as it is) in an answer") != 1 {
			t.Errorf("session %d: %s", n, stderr)
		}
	}
}

// TestLeaksOfOthers: of a process the values are looked for that it holds itself, and those of another
// process of the same session are not.
func TestLeaksOfOthers(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), func(s *session.Session, o *stateless.Options) {
		s.Profile.Leaks = policy.LeaksBlock
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}}
		o.Declared = func() []string { return []string{"hidden"} }
		o.Tool = func(name string, _ bool) (stateless.Tool, error) {
			profile := *s.Profile
			if profile.Tool = name; name == "echo" {
				profile.Env = nil
			}
			return stateless.Tool{Profile: &profile}, nil
		}
	})
	p.Greet()
	arguments := `{"x":"` + leaked + `"}`
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", arguments)).Line, "tool=echo")
	p.Send(sessiontest.CallOf("2", "hidden", arguments)) // the control
	sessiontest.Has(t, p.Answer("2").Line, "-31008", "MY_TOKEN")
}

// TestLeaksOff: nothing is looked for.
func TestLeaksOff(t *testing.T) {
	p := openLeaky(t, "stateful", policy.LeaksOff)
	sessiontest.Has(t, p.Ask(sessiontest.ListOf("1", "raw "+leakyMessages(leaked)["an answer"])).Line, leaked)
	if _, stderr, _ := p.Close(); stderr != "" {
		t.Error(stderr)
	}
}
