//go:build unix

package lifecycle_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

// beginSwitched starts a session of a menu of whose tools some are off, and greets the server.
func beginSwitched(t *testing.T, kind string, pins *sessiontest.FakePins, off ...policy.Switch) (p *sessiontest.Play, fleet *sessiontest.Fleet, now *atomic.Pointer[policy.Switches]) {
	t.Helper()
	now = &atomic.Pointer[policy.Switches]{}
	all := policy.Switches(off)
	now.Store(&all)
	before := now.Load()
	with := func(s *session.Session) {
		s.Switches = func() policy.Switches { return *now.Load() }
		s.Refresh = func() (r lifecycle.Refreshed) {
			r.Tools, before = now.Load() != before, now.Load()
			return r
		}
		if pins != nil {
			s.Pins = pins
		}
	}
	if kind == "stateful" {
		p = begin(t, &sessiontest.Fake{Server: "menu"}, with)
	} else {
		fleet = &sessiontest.Fleet{Servers: map[string]string{"": "menu"}}
		p = beginStateless(t, fleet, func(s *session.Session, o *stateless.Options) {
			with(s)
			o.Declared = func() []string { return []string{"a", "b", "c", "Straße"} }
		})
	}
	p.Send(sessiontest.GreetMenu("0", "Be kind.", "{}"), sessiontest.Initialized)
	p.Answer("0")
	return p, fleet, now
}

func offB() policy.Switch { return policy.NewSwitch("b", false, "f.toml:9") }

const toolC = `{"name":"c" , "x":1.0, "description":"\u0043"}`

// TestSwitchedOffList: a list has no tool that is off, and every other byte of it stays. The pins have all of it.
func TestSwitchedOffList(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		pins := &sessiontest.FakePins{}
		p, _, now := beginSwitched(t, kind, pins, offB())
		page := func(id, cursor, list, rest string) string {
			p.Send(sessiontest.PageOf(id, cursor, `{"z":2.50,"tools":[`+list+`]`+rest+`}`))
			return p.Answer(id).Line
		}
		sessiontest.Has(t, page("1", "", toolC+" , "+sessiontest.ToolB+","+sessiontest.ToolB, `, "nextCursor":"2"`), `{"z":2.50,"tools":[`+toolC+`], "nextCursor":"2"}`)
		sessiontest.Has(t, page("2", "2", sessiontest.ToolB, `,"nextCursor":"3"`), `{"z":2.50,"tools":[],"nextCursor":"3"}`)
		sessiontest.Has(t, page("3", "3", sessiontest.ToolA, ""), `{"z":2.50,"tools":[`+sessiontest.ToolA+`]}`)
		whole := `{"name":"c"} , ` + sessiontest.ToolA
		sessiontest.Has(t, page("4", "", whole, ""), `{"z":2.50,"tools":[`+whole+`]}`)
		if marked := page("6", "", toolC+","+sessiontest.ToolB, `,"_meta":{"dev.mcp-jail/warning":true,"x":1}`); strings.Contains(marked, "dev.mcp-jail") || strings.Contains(marked, `"name":"b"`) || !strings.Contains(marked, `"x":1`) {
			t.Errorf("words of ours by the server: %s", marked)
		}
		now.Store(&policy.Switches{})
		sessiontest.Has(t, page("5", "", whole+","+sessiontest.ToolB, ""), sessiontest.ToolB)
		p.In.Close()
		p.Ended()
		if got := pins.Tools("default"); !strings.HasPrefix(got, `Be kind. a"A" b`) || !strings.Contains(got, " c") {
			t.Errorf("%s is pinned", got)
		}
	})
}

// TestSwitchedOffCall: a call of a tool that is off never reaches the server, whether the client has seen a list or not.
func TestSwitchedOffCall(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p, fleet, now := beginSwitched(t, kind, nil, offB())
		call := func(id, name string) string {
			if t.Failed() { // a call that gets through may have no answer
				t.FailNow()
			}
			return p.Ask(sessiontest.CallOf(id, name, "{}")).Line
		}
		answer := call("1", "b")
		sessiontest.IsFailure(t, answer, "1 -32602 call b")
		sessiontest.Has(t, answer, `"message":"mcp-jail: b is switched off for test. Only the user can switch it on: mcp-jail grant test --tool b`)
		sessiontest.IsFailure(t, call("2", "B"), "2 -32602 call B")
		if kind == "stateless" && fleet.Started("b")+fleet.Started("B") > 0 {
			t.Error("a process was started for a tool that is off")
		}
		sessiontest.Has(t, call("3", "a"), `"calls":1`)
		now.Store(&policy.Switches{policy.NewSwitch("*", false, "f.toml:9"), policy.NewSwitch("b", true, "f.toml:11")})
		sessiontest.IsFailure(t, call("4", "a"), "4 -32602 call a")
		sessiontest.IsFailure(t, call("5", "B"), "5 -32602 call B")
		sessiontest.Has(t, call("6", "b"), `"calls":`)
		p.In.Close()
		p.Ended()
	})
}

// TestSwitchedOffTricks: what a server could take for a call of a tool that is off, and another reader would not, is
// refused, and nothing else is.
func TestSwitchedOffTricks(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p, _, _ := beginSwitched(t, kind, nil, offB())
		for id, params := range map[string]string{"1": `"name":"a","name":"b"`, "2": `"Name":"b","name":"a"`, "3": `"name":"a","Name":"b"`} {
			p.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + `}}`)
			sessiontest.IsFailure(t, p.Answer(id).Line, id+" -32600 call")
		}
		sessiontest.IsFailure(t, p.Ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"\u0062"}}`).Line, "4 -32602 call b")
		p.Send(`[{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"b"}}]`)
		sessiontest.Has(t, p.Line(), `"id":5,`, "-32602")
		p.Send(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"b"}}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"b"}}`,
			`{"jsonrpc":"2.0","id":6,"params":{"name":"b"},"METHOD":"tools/call"}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"b",}}`,
			`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		sessiontest.Has(t, p.Ask(sessiontest.CallOf("8", "a", "{}")).Line, `"calls":1`)
		p.In.Close()
		p.Ended()
	})
}

// TestSwitchedOffUnread: of a list that cannot be read, the client gets nothing.
func TestSwitchedOffUnread(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p, _, now := beginSwitched(t, kind, nil, offB())
		lists := []string{`{"tools":[` + sessiontest.ToolA + `],"x":"HUGE"}`, `{"tools":[],"tools":[` + sessiontest.ToolB + `]}`, `{"tools":[{"name":"a","name":"b"}]}`,
			`{"tools":[{"Name":"b","name":"a"}]}`, `{"tools":[{"title":"b"}]}`, `{"tools":{}}`, `raw {"jsonrpc":"2.0","id":ID,"result":{"tools":[]},"result":{"tools":[` + sessiontest.ToolB + `]}}`}
		for i, list := range lists {
			id := fmt.Sprint(10 + i)
			p.Send(sessiontest.ListOf(id, list))
			sessiontest.Has(t, p.Answer(id).Line, "-32603")
		}
		now.Store(&policy.Switches{})
		p.Send(sessiontest.ListOf("2", lists[3]))
		sessiontest.Has(t, p.Answer("2").Line, `"Name":"b"`)
		p.In.Close()
		p.Ended()
	})
}

// TestSwitchedOffLive: a running session takes a switch up, and tells a client that was told so.
func TestSwitchedOffLive(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p, _, now := beginSwitched(t, kind, nil)
		sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "b", "{}")).Line, `"calls":1`)
		now.Store(&policy.Switches{offB()})
		if kind == "stateless" { // it looks at each call and each tick
			p.Ask(sessiontest.CallOf("2", "b", "{}"))
		}
		p.Told("notifications/tools/list_changed")
		sessiontest.IsFailure(t, p.Ask(sessiontest.CallOf("3", "b", "{}")).Line, "3 -32602 call b")
		if starts := p.Fake; kind == "stateful" && starts.Starts != 1 {
			t.Errorf("%d processes were started", starts.Starts)
		}
		p.End()
	})
}
