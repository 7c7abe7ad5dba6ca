//go:build unix

package stateful

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// wisher has a session under test start its server again.
type wisher struct {
	p      *sessiontest.Play
	next   atomic.Pointer[session.Next]
	mu     sync.Mutex
	record diagnostics.Record
	took   chan bool
	since  atomic.Int64 // in seconds
}

// wishes begins a session whose server may be started again. heirs are the servers of the later starts.
func wishes(t *testing.T, old string, change func(*session.Session), heirs ...string) *wisher {
	t.Helper()
	w := &wisher{took: make(chan bool, 100)}
	w.p = begin(t, &sessiontest.Fake{Server: old, Heirs: heirs}, func(s *session.Session) {
		sessiontest.Ruthless(s)
		s.Refresh = func() session.Refreshed {
			return session.Refreshed{Next: w.next.Swap(nil), Kept: &diagnostics.Kept{Since: time.Unix(w.since.Load(), 0)}}
		}
		s.Sink = func(r diagnostics.Record) { w.mu.Lock(); w.record = r; w.mu.Unlock() }
		if change != nil {
			change(s)
		}
	})
	return w
}

var secretGranted = []policy.Entry{{Path: "/secret", Rights: policy.Read, Origin: policy.OriginRule, Kind: policy.KindDir}}

// wish asks for a start under a policy that may read /secret.
func (w *wisher) wish(change ...func(*policy.Profile)) {
	p := &policy.Profile{Server: "test", Startup: testkit.Patience, Limits: policy.DefaultLimits}
	p.Entries = secretGranted
	for _, c := range change {
		c(p)
	}
	w.since.Store(time.Now().Unix())
	w.next.Store(&session.Next{Profile: p, Kept: diagnostics.Kept{Since: time.Unix(w.since.Load(), 0)}, Done: func(took bool) { w.took <- took }})
}

// swapped waits until a wish has come to its end, and fails the test unless the client has the new process or not as
// wanted.
func (w *wisher) swapped(want bool) {
	w.p.T.Helper()
	select {
	case took := <-w.took:
		if took != want {
			w.p.T.Errorf("the client has the new process: %v", took)
		}
	case <-time.After(testkit.Patience):
		w.p.T.Fatal("the wish has no end")
	}
}

func (w *wisher) kept() *diagnostics.Kept { w.mu.Lock(); defer w.mu.Unlock(); return w.record.Kept }

// by calls a tool and returns which process has answered.
func (w *wisher) by(id int, tool string) string {
	w.p.T.Helper()
	return string(w.p.Ask(sessiontest.Legacy(fmt.Sprint(id), "tools/call", fmt.Sprintf(`{"name":%q}`, tool))).Result)
}

const oldOne, newOne = `{"by":"old"}`, `{"by":"new"}`

func (w *wisher) answers(id int, want string) {
	w.p.T.Helper()
	if got := w.by(id, "t"); got != want {
		w.p.T.Errorf("call %d is answered by %s", id, got)
	}
}

// TestHeir: a server that is started again gets what the client has said, and answers in place of the old one. The client
// is told that the lists may be others, and nothing of the handshake.
func TestHeir(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old", nil, "new")
	w.p.Greet()
	w.p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"warning"}`))
	w.p.Ask(sessiontest.Legacy("2", "resources/subscribe", `{"uri":"a:b"}`))
	w.p.Ask(sessiontest.Legacy("3", "resources/subscribe", `{"uri":"a:gone"}`))
	w.p.Ask(sessiontest.Legacy("4", "resources/unsubscribe", `{"_meta":{},"uri":"a:gone"}`))
	w.answers(5, oldOne)
	w.wish()
	w.swapped(true)
	w.p.Told("notifications/tools/list_changed")
	sessiontest.Has(t, w.p.Told("notifications/message").Line, "test was started again under its new policy", "What it held in memory is lost")
	w.answers(6, newOne)
	stderr := w.p.Nothing()
	sessiontest.Has(t, stderr, `saw: {"jsonrpc":"2.0","id":0,"method":"initialize"`, "notifications/initialized", `{"level":"warning"}`, `{"uri":"a:b"}`)
	if strings.Contains(stderr, "a:gone") {
		t.Errorf("a subscription that is over is repeated: %s", stderr)
	}
}

// TestHeirNever: the client keeps the old process and sees nothing of the other one, in all that it does. The next refusal
// says why, in place of the grant.
func TestHeirNever(t *testing.T) {
	t.Parallel()
	for heir, why := range map[string]string{
		"new-other-capabilities": "it has other capabilities than the client was told",
		"new-other-version":      "it speaks another version of the protocol",
		"new-other-tools":        "it has other tools than the client was told",
		"new-asks":               "it asks the client for elicitation/create at its start",
		"new-asks-oddly":         "it asks the client for something at its start",
		"new-errors":             "it answers initialize with an error. Restart",
		"new-locked":             "it has ended (exit status 1)",
		"new-mute":               "it gives no answer",
	} {
		t.Run(heir, func(t *testing.T) {
			t.Parallel()
			w := wishes(t, "old", func(s *session.Session) {
				known := diagnostest.Of(&s.Known)
				known.May, known.Exists = func(string, policy.Rights) bool { return true }, func(string) bool { return true }
				if heir == "new-other-tools" {
					s.Pins, s.EnforcePins = &sessiontest.FakePins{}, true
				}
			}, heir)
			w.p.Greet()
			w.p.Ask(sessiontest.Legacy("1", "tools/list", `{}`))
			w.wish(func(p *policy.Profile) {
				if heir == "new-mute" {
					p.Startup = time.Second
				}
			})
			w.swapped(false)
			sessiontest.Eventually(t, "the record", func() bool { k := w.kept(); return k != nil && strings.Contains(k.Why, why) })
			w.answers(2, oldOne)
			refused := w.p.Ask(sessiontest.Legacy("3", "tools/call", `{"name":"needs"}`)).Line
			sessiontest.Has(t, refused, "It is allowed by now, but test could not be started again beside the running one: "+why, "Restart it in your client")
			if strings.Contains(refused, "They run this") {
				t.Errorf("it asks for a grant, too: %s", refused)
			}
			stderr := w.p.Nothing()
			sessiontest.Has(t, stderr, why)
			if heir == "new-asks" {
				sessiontest.Has(t, stderr, `saw: {"jsonrpc":"2.0","id":0,"error"`)
			}
		})
	}
}

// TestHeirUnseen: what a process writes before the client has it does not reach the client.
func TestHeirUnseen(t *testing.T) {
	t.Parallel()
	for _, heir := range []string{"new-floods", "new-huge", "new-answers-unasked"} {
		t.Run(heir, func(t *testing.T) {
			t.Parallel()
			w := wishes(t, "old", nil, heir)
			w.p.Greet()
			w.wish()
			w.swapped(true)
			w.p.Told("notifications/tools/list_changed")
			w.answers(5, newOne)
			w.p.Nothing()
		})
	}
}

// TestHeirWaits: the process is not ended while something is open, or has just been cancelled.
func TestHeirWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ send, ends string }{
		"a call":             {send: sessiontest.Legacy("7", "tools/call", `{"name":"slow"}`)},
		"a request of its":   {send: sessiontest.Legacy("7", "tools/call", `{"name":"samples"}`), ends: `{"jsonrpc":"2.0","id":"s","result":{}}`},
		"a cancelled call":   {send: sessiontest.Legacy("7", "tools/call", `{"name":"mute"}`) + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`},
		"a call with a task": {send: sessiontest.Legacy("7", "tools/call", `{"name":"t","task":{"ttl":60000}}`), ends: "never"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wishes(t, "old", nil, "new")
			w.p.Greet()
			w.p.Send(c.send)
			if c.ends != "" {
				w.p.Answer("7")
			}
			begun := time.Now()
			w.wish()
			if c.ends == "never" {
				w.swapped(false)
				w.answers(8, oldOne)
				sessiontest.Has(t, w.p.Nothing(), "the client has started a task, which would be lost")
				return
			}
			if c.ends != "" {
				w.p.Told("sampling/createMessage")
				time.Sleep(2500 * time.Millisecond)
				w.answers(8, oldOne)
				w.p.Send(c.ends)
			} else if name == "a call" && string(w.p.Answer("7").Result) != oldOne {
				t.Error("the open call is answered by the new process")
			}
			w.swapped(true)
			if time.Since(begun) < cancelled {
				t.Error("it was not waited")
			}
			w.p.Told("notifications/tools/list_changed")
			w.answers(9, newOne)
			w.p.Nothing()
		})
	}
}

// TestHeirToldMore: what the client says while an heir waits is said to another one, which takes its place.
func TestHeirToldMore(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old", nil, "new")
	w.p.Greet()
	w.p.Send(sessiontest.Legacy("7", "tools/call", `{"name":"slow"}`))
	w.wish()
	sessiontest.Eventually(t, "an heir", func() bool { k := w.kept(); return k != nil && strings.Contains(k.Why, "waits for a moment") })
	w.p.Send(sessiontest.Legacy("8", "logging/setLevel", `{"level":"error"}`))
	w.p.Answer("7")
	w.p.Answer("8")
	w.swapped(true)
	w.answers(9, newOne)
	w.p.Told("notifications/tools/list_changed")
	_, stderr, _ := w.p.Close()
	sessiontest.Has(t, stderr, `saw: {"jsonrpc":"2.0","id":8,"method":"logging/setLevel"`)
}

// TestHeirUnread: the process is not ended before it has read what the client has said.
func TestHeirUnread(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old-reads-late", nil, "new")
	w.p.Greet()
	w.p.Send(`{"jsonrpc":"2.0","method":"notifications/pause"}`)
	time.Sleep(200 * time.Millisecond)
	w.p.Send(`{"jsonrpc":"2.0","method":"notifications/read"}`)
	w.wish()
	w.swapped(true)
	w.p.Told("notifications/tools/list_changed")
	sessiontest.Has(t, w.p.Nothing(), "it was read")
}

// TestHeirReplaced: if a file that is mounted in an heir's jail was replaced since, another heir takes its place.
func TestHeirReplaced(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old", nil, "new")
	var looks atomic.Int32
	w.p.Fake.Mounted = func() ([]byte, bool) { return nil, looks.Add(1) > 1 }
	w.p.Greet()
	w.wish()
	w.swapped(true)
	w.answers(9, newOne)
	w.p.Told("notifications/tools/list_changed")
	w.p.Fake.Mu.Lock()
	if w.p.Fake.Starts != 3 {
		t.Errorf("%d starts", w.p.Fake.Starts)
	}
	w.p.Fake.Mu.Unlock()
	w.p.Close()
}

// TestHeirMessages: a result that only has the words of a question in it keeps no heir waiting. One that asks does.
func TestHeirMessages(t *testing.T) {
	t.Parallel()
	for result, busy := range map[string]bool{
		`{"content":[{"text":"\"input_required\" \"task\""}]}`:            false,
		`{"structuredContent":{"resultType":"input_required","task":{}}}`: false,
		`{"resultType":"input_required"}`:                                 true,
	} {
		h := heirs{}
		h.init(false, nil)
		f := mcpproxy.Parse(mcpproxy.NewResponse([]byte("1"), "result", []byte(result)))
		h.noteAnswer(f, &f.Messages[0], &mcpproxy.Call{ID: []byte("1"), Method: []byte("tools/call")})
		if got, never := h.isBusy(); got != busy || never != "" {
			t.Errorf("%s: busy %v, never %q", result, got, never)
		}
		h.cancel()
	}
}

// TestHeirOfAsking: what the old process asks the client for at its end does not reach the client, whose answer would be to
// the new one.
func TestHeirOfAsking(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old-asks-late", nil, "new")
	w.p.Greet()
	w.wish()
	w.swapped(true)
	w.answers(9, newOne)
	w.p.Told("notifications/tools/list_changed")
	w.p.Nothing()
}

// TestHeirOfDeaf: an old process that ignores its end is killed. A call that the client writes meanwhile waits.
func TestHeirOfDeaf(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old-deaf", nil, "new")
	w.p.Greet()
	w.wish()
	sessiontest.Eventually(t, "an heir", func() bool { w.p.Fake.Mu.Lock(); defer w.p.Fake.Mu.Unlock(); return w.p.Fake.Starts == 2 })
	n := 10
	for ; w.by(n, "t") == oldOne; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	w.swapped(true)
	w.answers(n+1, newOne)
	w.p.Told("notifications/tools/list_changed")
	w.p.Nothing()
}

// TestHeirModern: a client of 2026-07-28 has a subscription, which the new process gets, too. Many were cancelled.
func TestHeirModern(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old", nil, "new")
	w.p.Ask(sessiontest.Modern("0", "server/discover", ""))
	for i := range maxSaid + 10 {
		w.p.Send(sessiontest.Modern(fmt.Sprint(100+i), "subscriptions/listen", ""))
		w.p.Told("notifications/subscriptions/acknowledged")
		w.p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 100+i))
	}
	w.p.Send(sessiontest.Modern(`"l"`, "subscriptions/listen", ""))
	sessiontest.Has(t, w.p.Told("notifications/subscriptions/acknowledged").Line, "old")
	w.wish()
	sessiontest.Has(t, w.p.Told("notifications/subscriptions/acknowledged").Line, "new")
	w.swapped(true)
	if got := w.p.Ask(sessiontest.Modern("1", "tools/call", `"name":"t"`)); string(got.Result) != newOne {
		t.Errorf("%s", got.Line)
	}
	w.p.Close()
}

// TestHeirIgnoredDiscover: a process that has never answered server/discover has a successor, which is asked again.
func TestHeirIgnoredDiscover(t *testing.T) {
	t.Parallel()
	w := wishes(t, "old-ignores", nil, "new")
	w.p.Send(probe)
	w.p.Greet()
	w.answers(1, oldOne)
	w.wish()
	w.swapped(true)
	sessiontest.Has(t, w.p.Answer(`"p"`).Line, "supportedVersions")
	w.answers(2, newOne)
	w.p.Close()
}

// TestHeirRoots: the answer of the client to roots/list is repeated, as its new policy narrows it, which gives more or less
// than the one before. The client is asked again when it has the new process: its roots may be others by now, or it was not
// asked before. Of a client that has none, both processes are told those of their policies.
func TestHeirRoots(t *testing.T) {
	t.Parallel()
	const (
		given  = `{"roots":[{"uri":"file:///secret/a"},{"uri":"file:///other"}]}`
		secret = `{"roots":[{"uri":"file:///secret/a"}]}`
		none   = `{"roots":[]}`
	)
	for name, c := range map[string]struct {
		mode, capabilities string
		had, gets          bool   // the old and the new policy may read /secret
		was, is            string // what the processes are told
	}{
		"as they are":                     {session.RootsOff, `{"roots":{}}`, false, true, given, given},
		"narrowed, and granted":           {session.RootsNarrow, `{"roots":{}}`, false, true, none, secret},
		"narrowed, and taken":             {session.RootsNarrow, `{"roots":{}}`, true, false, secret, none},
		"of the policy, and granted":      {session.RootsAdvertise, `{}`, false, true, "", `{"roots":[{"uri":"file:///secret","name":"secret"}]}`},
		"of the policy, and taken":        {session.RootsAdvertise, `{}`, true, false, "", none},
		"narrowed with it, and granted":   {session.RootsAdvertise, `{"roots":{}}`, false, true, none, secret},
		"narrowed with it, and taken":     {session.RootsAdvertise, `{"roots":{}}`, true, false, secret, none},
		"the client was not asked before": {session.RootsOff, `{"roots":{}}`, false, true, "", `{"code":-32603`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wishes(t, "old", func(s *session.Session) {
				if s.Profile.Roots = c.mode; c.had {
					s.Profile.Entries = secretGranted
				}
			}, "new-asks-roots")
			w.p.Send(sessiontest.HelloFrom("0", c.capabilities), sessiontest.Initialized)
			w.p.Answer("0")
			if c.was != "" {
				w.p.Send(sessiontest.Legacy("1", "tools/call", `{"name":"roots"}`))
				w.p.Send(sessiontest.ReplyTo(w.p.Told("roots/list"), given))
				w.p.Answer("1")
				w.answers(2, oldOne) // it was read
			}
			w.wish(func(p *policy.Profile) {
				if p.Roots = c.mode; !c.gets {
					p.Entries = nil
				}
			})
			w.swapped(true)
			told := []string{`"id":0,"`, c.is}
			if c.capabilities != `{}` {
				w.p.Send(sessiontest.ReplyTo(w.p.Told("roots/list"), `{"roots":[]}`))
				told = append(told, `"id":1,"result":{"roots":[]}`)
			}
			w.p.Told("notifications/tools/list_changed")
			sessiontest.Has(t, w.p.Nothing(), told...)
		})
	}
}

// TestHeirLeaves: the client leaves at any moment after a wish. A call that it has written is answered, and nothing is
// left, which begin sees to.
func TestHeirLeaves(t *testing.T) {
	t.Parallel()
	for i := range 24 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := wishes(t, "old", nil, "new")
			w.p.Greet()
			w.wish()
			time.Sleep(time.Second + time.Duration(i)*50*time.Millisecond)
			switch i % 3 {
			case 0:
				w.p.Send(sessiontest.Legacy("5", "tools/call", `{"name":"t"}`))
				if rest, _, status := w.p.Close(); !strings.Contains(rest, `"id":5,"result"`) || status != 0 {
					t.Errorf("status %d: %s", status, rest)
				}
			case 1:
				w.p.Cancel()
				w.p.Close()
			case 2:
				w.p.Fake.Mu.Lock()
				proc := w.p.Fake.Proc
				w.p.Fake.Mu.Unlock()
				proc.Signal(syscall.SIGKILL)
				w.p.Close()
			}
		})
	}
}

// TestHeirsInARow: the last wish counts, and there are twenty in a session at most.
func TestHeirsInARow(t *testing.T) {
	t.Parallel()
	var heirs []string
	for range maxHeirs / 2 {
		heirs = append(heirs, "new", "old")
	}
	soon := func(s *session.Session) {
		session.TimesOf(s).Refresh, session.TimesOf(s).HeirSilence = 10*time.Millisecond, 10*time.Millisecond
	}
	w := wishes(t, "old", soon, append(heirs, "new")...)
	w.p.Greet()
	for i := range maxHeirs {
		w.wish()
		w.swapped(true)
		w.answers(10+i, []string{newOne, oldOne}[i%2])
	}
	w.wish()
	w.swapped(false)
	sessiontest.Eventually(t, "the record", func() bool {
		k := w.kept()
		return k != nil && strings.Contains(k.Why, "it was started 20 times in this session")
	})
	w.answers(100, oldOne)
	rest, _, _ := w.p.Close()
	if n := strings.Count(rest, "list_changed"); n != maxHeirs {
		t.Errorf("the client is told %d times: %s", n, rest)
	}
}
