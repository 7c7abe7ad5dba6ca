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

// A departure is where a server is not the same with a process for every call. What
// a call answers is in the list for no other reason than that it needs a process which
// knows of another call.
type departure struct {
	server string // "" is any
	at     string // begins so, in the report by names
	why    string
	races  bool // so that it may be seen or not
}

var departures = []departure{
	{"", ".heard.notifications/cancelled.{\"reason\":\"the process of the call has ended\"", "a process has ended that the client had not told its roots yet", true},
	{"", ".server.capabilities.resources.subscribe", "no process lives on that could tell of changes", false},
	{"", ".server.capabilities.resources.listChanged", "the same", false},
	{"", ".server.capabilities.tools.listChanged", "the same; in the legacy era mcp-jail backs it itself", false},
	{"", ".server.capabilities.prompts.listChanged", "the same", false},
	{"everything", ".server.capabilities.tasks", "a task outlives the call that has begun it", false},
	{"", ".subscribe ", "refused: no process lives on that could tell of changes", false},
	{"", ".unsubscribe ", "the same", false},
	{"", ".call no-such-tool", "refused in our name: no policy is known to call it under", false},
	{"everything", ".asked.roots/list", "each process asks the client for its roots once", false},
	{"filesystem", ".asked.roots/list", "the same", false},
	{"everything", ".hear notifications/message", "said when the roots are there, and so to nobody's request", false},
	{"everything", ".heard.notifications/message.{\"data\":\"Roots updated", "the same, and by each process that lives long enough to have got them", false},
	{"everything", ".heard.notifications/tools/list_changed", "each process says so when it has been greeted; the list is the same", false},
	{"everything", ".heard.notifications/resources/list_changed", "said by the process of a call about itself, and not believed", false},
	{"everything", ".call toggle-subscriber-updates #2", "it remembers the call before: state", false},
	{"everything", ".read demo://resource/session/beans.gz", "a resource that a call has made: state", false},
	{"odd", ".heard.notifications/message.{\"data\":\"cancelled ", "it has the number of the request: the Go SDK asks for no word of changes where none is offered", false},
	{"odd", ".heard.notifications/resources/updated", "of a resource that the client was refused to subscribe to", false},
	{"odd", ".heard.notifications/tools/list_changed", "what a call says of the lists is not believed", false},
	{"odd", ".heard.notifications/prompts/list_changed", "the same", false},
	{"odd", ".heard.notifications/resources/list_changed", "the same", false},
}

// departing collects which departures were seen, by all clients.
type departing struct {
	mu       sync.Mutex
	seen     map[departure]bool
	sessions int
}

// stateless compares a session with a bare server with what it is with a process for
// every call: without spares, and in a second session, which finds the lists in the
// catalogue, with one of each tool. Everything is the same but for the departures. A
// call that departs does so in each session.
func (all *departing) stateless(t *testing.T, s *site, c client, sv server, want any) {
	t.Helper()
	// What nobody has asked for is not waited for.
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

// waysOf is with how many spares a client meets a server: each library finds the
// catalogue of a session before, and each server both. The other sessions alternate,
// and one that is only another version of a library leaves out those that take long.
func waysOf(c client, sv server) []int {
	slow := sv.made == "TypeScript SDK 1.x"
	switch c.name {
	case "ts2 auto", "mcpgo legacy", "gosdk":
		if !slow {
			return []int{0, 1}
		}
	case "ts2 legacy":
		if slow {
			return nil
		}
	}
	of := slices.IndexFunc(clients, func(other client) bool { return other.name == c.name })
	with := slices.IndexFunc(servers, func(other server) bool { return other.name == sv.name })
	return []int{(of + with) % 2}
}

// check reports the departures that no session has shown.
func (all *departing) check(t *testing.T) {
	t.Helper()
	if all.sessions < len(clients)*len(servers) {
		return // not all of them were played
	}
	for _, d := range departures {
		if !all.seen[d] && !d.races {
			t.Errorf("no session with %q differs at %s", d.server, d.at)
		}
	}
}

// byNames is a report whose answers stand under the names of what was asked, and in
// which what was asked and heard is counted: several processes say it, in any order.
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

// long are servers with a tool that takes a minute, under a command line of their own.
var long = []server{
	{"long-everything", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-everything/dist/index.js"), "stdio", filepath.Join(s.base, "long-everything")}
	}},
	{"long-mcp-go", "mcp-go", func(s *site) []string {
		return []string{filepath.Join(s.bin, "everything"), filepath.Join(s.base, "long-mcp-go")}
	}},
}

// TestStatelessCancelled has eight calls run at once, each in a process of its own, and
// cancels them: the processes are gone soon, also those of a server that goes on working,
// nobody is answered, and the session goes on.
func TestStatelessCancelled(t *testing.T) {
	needsAll(t)
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
