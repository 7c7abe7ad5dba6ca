//go:build linux

package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A departure is a place where a server with a process for every call differs from the bare
// server. An answer to a call is in the list only if it depends on an earlier call.
type departure struct {
	server string // "" is any
	at     string // prefix of the path in the report of byNames
	why    string
	races  bool // it does not show in every session
}

var departures = []departure{
	{"", ".heard.notifications/cancelled.{\"reason\":\"the process of the call has ended\"", "a process ended before the client sent its roots", true},
	{"", ".server.capabilities.resources.subscribe", "no process lives on to report changes", false},
	{"", ".server.capabilities.resources.listChanged", "the same", false},
	{"", ".server.capabilities.tools.listChanged", "the same; in the legacy era mcp-jail backs it itself", false},
	{"", ".server.capabilities.prompts.listChanged", "the same", false},
	{"everything", ".server.capabilities.tasks", "a task outlives the call that has begun it", false},
	{"everything", ".tools.result.tools[15].execution.taskSupport", "the same; a client would not call the tool", true},
	{"everything", ".at once.result[7].result.tools[15].execution.taskSupport", "the same", true},
	{"everything", ".call simulate-research-query", "it answers with tasks alone, and mcp-jail says so", true},
	{"", ".subscribe ", "refused: no process lives on to report changes", false},
	{"", ".unsubscribe ", "the same", false},
	{"", ".call no-such-tool", "mcp-jail refuses it: there is no policy for it", false},
	{"everything", ".asked.roots/list", "each process asks the client for its roots once", false},
	{"filesystem", ".asked.roots/list", "the same", false},
	{"everything", ".hear notifications/message", "sent when the roots arrive, so it belongs to no request", false},
	{"everything", ".heard.notifications/message.{\"data\":\"Roots updated", "the same; each process that lives long enough sends it", false},
	{"everything", ".heard.notifications/tools/list_changed", "each process sends it after its handshake; the list is the same", false},
	{"everything", ".heard.notifications/resources/list_changed", "a process of a call sends it about itself; mcp-jail drops it", false},
	{"everything", ".call toggle-subscriber-updates #2", "it remembers the call before: state", false},
	{"everything", ".read demo://resource/session/beans.gz", "a resource that a call has made: state", false},
	{"odd", ".server.capabilities.extensions.io.modelcontextprotocol/tasks", "a task outlives the call that has begun it", true},
	{"odd", ".tools.result.tools[11].execution.taskSupport", "the same; a client would not call the tool", true},
	{"odd", ".at once.result[2].result.tools[11].execution.taskSupport", "the same", true},
	{"odd", ".hear notifications/message", "these sessions do not wait for it", true},
	{"odd", ".heard.notifications/message.{\"data\":\"cancelled ", "it has the id of the request: the Go SDK does not subscribe where that is not offered", false},
	{"odd", ".heard.notifications/resources/updated", "of a resource to which mcp-jail refused the subscription", false},
	{"odd", ".heard.notifications/tools/list_changed", "mcp-jail drops what the process of a call sends about lists", false},
	{"odd", ".heard.notifications/prompts/list_changed", "the same", false},
	{"odd", ".heard.notifications/resources/list_changed", "the same", false},
}

// departing collects the departures that the sessions showed.
type departing struct {
	mu       sync.Mutex
	seen     map[departure]bool
	due      int // sessions that are to be played, and those that were
	sessions int
}

// stateless compares a session with a bare server and sessions with a process for every
// call: one without warm workers, and one with a warm worker for each tool, which finds the
// lists in the list cache. Everything but the departures is the same. A listed call differs
// in each session.
func (all *departing) stateless(t *testing.T, s *site, c client, sv server, want any) {
	t.Helper()
	// Do not wait for notifications that these sessions need not send.
	actions := session(t, s, c, sv)
	spoken := slices.Clone(actions)
	for i, a := range spoken {
		if a["do"] == "hear" {
			spoken[i] = map[string]any{"do": "hear", "method": a["method"], "count": 0}
		}
	}
	before := byNames(want, actions)
	for _, warm := range waysOf(c, sv) {
		got, additions := lessAdditions(played(t, s, c, sv, stateless(warm), spoken))
		departs := map[departure]bool{}
		for _, fault := range differences("", before, byNames(got, spoken)) {
			i := slices.IndexFunc(departures, func(d departure) bool {
				return (d.server == "" || d.server == sv.name) && strings.HasPrefix(fault, d.at)
			})
			if i < 0 {
				t.Errorf("warm = %d: %s", warm, fault)
				continue
			}
			departs[departures[i]] = true
		}
		for _, d := range departures {
			_, called := before[d.at[1:]]
			if called && (d.server == "" || d.server == sv.name) && !departs[d] {
				t.Errorf("warm = %d: %s is the same, and listed because: %s", warm, d.at, d.why)
			}
		}
		maps.DeleteFunc(departs, func(d departure, _ bool) bool { return d.races })
		all.mu.Lock()
		maps.Copy(all.seen, departs)
		all.mu.Unlock()
		results.add(t, "stateless", fmt.Sprintf("%s → %s", c.name, sv.name), tally{sessions: 1, answers: len(before) - 3, additions: additions, departures: len(departs)})
	}
	all.mu.Lock()
	all.sessions++
	all.mu.Unlock()
}

// playsStateless reports whether a client also meets a server that has a process for every call.
// One client does, and in make test-long each library meets the odd server in this way; -update
// plays all.
func playsStateless(c client, sv server) bool {
	switch {
	case *update:
		return true
	case !longForms():
		return c.name == "ts2 auto"
	}
	return sv.name != "odd" || slices.Contains([]string{"ts2 auto", "mcpgo legacy", "gosdk"}, c.name)
}

// waysOf returns the numbers of warm workers to try. With -update, three clients try
// both with the fast servers, else one does; the other sessions alternate. Two clients, one of each
// era, have the servers that take a third of a second to start: the process of a call does not know
// its client.
func waysOf(c client, sv server) []int {
	if sv.made == "TypeScript SDK 1.x" {
		switch c.name {
		case "ts1":
			return []int{0}
		case "gosdk":
			return []int{1}
		}
		return nil
	}
	switch c.name {
	case "gosdk":
		return []int{0, 1}
	case "ts2 auto", "mcpgo legacy":
		if *update {
			return []int{0, 1}
		}
	}
	of := slices.IndexFunc(clients, func(other client) bool { return other.name == c.name })
	with := slices.IndexFunc(servers, func(other server) bool { return other.name == sv.name })
	return []int{(of + with) % 2}
}

// check reports the departures that no session showed.
func (all *departing) check(t *testing.T) {
	t.Helper()
	if all.sessions < all.due || !longForms() {
		return // not all of them were played
	}
	for _, d := range departures {
		if !all.seen[d] && !d.races {
			t.Errorf("no session with %q differs at %s", d.server, d.at)
		}
	}
}

// byNames returns a report with the answers by the name of the action. It counts requests
// and notifications of the server, since several processes send them in any order.
func byNames(report any, actions []map[string]any) map[string]any {
	r, _ := report.(map[string]any)
	named := map[string]any{"server": r["server"]}
	for _, list := range []string{"asked", "heard"} {
		methods, _ := r[list].(map[string]any)
		counts := map[string]any{}
		for method, said := range methods {
			count := map[string]any{}
			all, _ := said.([]any)
			for _, v := range all {
				n, _ := count[brief(v)].(int)
				count[brief(v)] = n + 1
			}
			counts[method] = count
		}
		named[list] = counts
	}
	list, _ := r["answers"].([]any)
	for i, answer := range list {
		name := "connect"
		if r["server"] != nil {
			name = nameOf(actions[i])
		}
		for n := 2; named[name] != nil; n++ {
			name = fmt.Sprint(nameOf(actions[i]), " #", n)
		}
		named[name] = answer
	}
	return named
}

func nameOf(action map[string]any) string {
	name, _ := action["do"].(string)
	for _, member := range []string{"name", "uri", "method"} {
		if v, ok := action[member].(string); ok {
			name += " " + v
		}
	}
	return name
}

// long are servers with a tool that takes a minute. Their command lines are unique.
var long = []server{
	{"long-everything", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-everything/dist/index.js"), "stdio", filepath.Join(s.base, "long-everything")}
	}},
	{"long-mcp-go", "mcp-go", func(s *site) []string {
		return []string{filepath.Join(s.bin, "everything"), filepath.Join(s.base, "long-mcp-go")}
	}},
}

// TestStatelessCancelled cancels eight calls that run at once, each in its process. The
// processes end, also if the server ignores the cancellation. No call is answered, and the
// session goes on.
func TestStatelessCancelled(t *testing.T) {
	needsLong(t)
	s := here(t)
	for i, tool := range []string{"trigger-long-running-operation", "longRunningOperation"} {
		sv := long[i]
		t.Run(sv.name, func(t *testing.T) {
			t.Parallel()
			cmd := s.command(stateless(0)(s, sv)...)
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			kill := time.AfterFunc(patience, func() { cmd.Process.Kill() })
			defer kill.Stop()
			send := func(format string, arguments ...any) {
				_, err := fmt.Fprintf(in, format+"\n", arguments...)
				must(t, err)
			}
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			next := func() (m struct {
				ID     any
				Method string
				Params struct{ ProgressToken any }
			}) {
				if !lines.Scan() {
					t.Fatalf("the session is over: %v", lines.Err())
				}
				must(t, json.Unmarshal(lines.Bytes(), &m))
				return m
			}
			send("%s", strings.TrimSpace(handshake))
			for next().ID != "i" {
			}
			send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			before := len(processesWith(filepath.Join(s.base, sv.name)))
			const many = 8
			for n := range many {
				send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"duration":60,"steps":600},"_meta":{"progressToken":%d}}}`, n, tool, n)
			}
			for working := map[any]bool{}; len(working) < many; {
				m := next()
				if m.ID != nil && m.Method == "" {
					t.Fatalf("a call is answered: %s", lines.Bytes())
				}
				if m.Method == "notifications/progress" {
					working[m.Params.ProgressToken] = true
				}
			}
			if n := len(processesWith(filepath.Join(s.base, sv.name))); n < before+many {
				t.Errorf("%d processes work on %d calls", n-before, many)
			}
			for n := range many {
				send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n)
			}
			for tries := 0; len(processesWith(filepath.Join(s.base, sv.name))) > before; tries++ {
				if tries == 600 {
					t.Fatalf("still there: %q", processesWith(filepath.Join(s.base, sv.name)))
				}
				time.Sleep(100 * time.Millisecond)
			}
			send(`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"echo","arguments":{"message":"still here"}}}`)
			for m := next(); m.ID != "e"; m = next() {
				if m.ID != nil && m.Method == "" {
					t.Errorf("a cancelled call is answered: %s", lines.Bytes())
				}
			}
			if !strings.Contains(lines.Text(), "still here") {
				t.Errorf("got %s", lines.Bytes())
			}
			in.Close()
			must(t, cmd.Wait())
			if left := processesWith(filepath.Join(s.base, sv.name)); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
