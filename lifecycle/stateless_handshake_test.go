//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// strange is an initialize whose bytes no decoder and encoder would leave alone.
const strange = `{"jsonrpc": "2.0","id":"h", "x":1, "method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{ }},"clientInfo":{"name":"\u0063","version":"1"},"n":9007199254740993}}`

// TestHandshakeIsReplayed: each worker gets the client's own initialize, changed in its id
// only.
func TestHandshakeIsReplayed(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.send(strange, initialized)
	p.answer(`"h"`)
	p.send(callOf("1", "echo", "{}"))
	p.answer("1")
	p.nothing()
	for _, log := range []string{f.saw("", 0), f.saw("echo", 0)} {
		lines := strings.Split(log, "\n")
		var m said
		if err := json.Unmarshal([]byte(lines[0]), &m); err != nil {
			t.Fatal(err)
		}
		if got := strings.Replace(lines[0], string(m.ID), `"h"`, 1); got != strange || lines[1] != initialized {
			t.Errorf("%q, %q", lines[0], lines[1])
		}
	}
}

// TestStatements: each worker is told the policy of its own tool.
func TestStatements(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		resolve := o.Tool
		o.Tool = func(name string) (Tool, error) {
			tool, err := resolve(name)
			if name == "" { // the discovery worker has nothing of theirs
				return tool, err
			}
			tool.Profile.Advertise = true
			tool.Profile.Entries = []policy.Entry{{Path: "/for/" + name, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}
			return tool, err
		}
	})
	p.greet()
	p.send(callOf("1", "echo", "{}"), callOf("2", "fail", "{}"))
	p.answer("1")
	p.answer("2")
	p.send(modern("3", "tools/call", `"name":"echo","arguments":{}`))
	p.answer("3")
	p.close()
	for _, row := range []struct {
		tool string
		n    int
		want string
	}{{"echo", 0, "/for/echo"}, {"fail", 0, "/for/fail"}, {"echo", 1, "/for/echo"}, {"", 0, ""}} {
		saw := f.saw(row.tool, row.n)
		if got := strings.Count(saw, "dev.mcp-jail/policy"); row.want == "" && got != 0 || row.want != "" && (got == 0 || !strings.Contains(saw, row.want)) || strings.Count(saw, "/for/") != strings.Count(saw, row.want) && row.want != "" {
			t.Errorf("process %d of %q saw %q", row.n, row.tool, saw)
		}
	}
}

// TestSecondInitialize: after another initialize, no call gets a worker of the first one.
func TestSecondInitialize(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Warm = func(string) int { return 1 }; o.MaxCalls = 1 })
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	eventually(t, "a warm worker", func() bool { return strings.Contains(f.saw("echo", 0), "initialized") })
	p.send(legacy("3", "resources/read", `{"uri":"ask"}`)) // which the first discovery process works on
	ask := p.told("roots/list")
	p.send(helloFrom("4", `{"sampling":{}}`), callOf("5", "echo", "{}"), legacy("6", "resources/read", `{"uri":"x"}`))
	for _, id := range []string{"4", "5", "6"} {
		p.answer(id)
	}
	p.send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"roots":[]}}`)
	has(t, p.answer("3").line, `"heard":{"roots":[]}`)
	f.of("")[0].ended(t) // it has ended by itself
	p.nothing()
	if saw := f.saw("echo", 0); strings.Contains(saw, "tools/call") {
		t.Errorf("a warm worker of the first handshake was used: %q", saw)
	}
	if saw := f.saw("", 1); !strings.Contains(saw, `"sampling"`) || !strings.Contains(saw, "resources/read") {
		t.Errorf("the second discovery process saw %q", saw)
	}
}

// TestHandshakeFails: a worker fails in its handshake: of a call, and of discovery.
func TestHandshakeFails(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{
		"die-boot":       "boot crash",
		"error-boot":     "boot crash",
		"silent-boot":    "boot crash",
		"ambiguous-boot": "call crash",
		"big-boot":       "boot crash",
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			f := newShop()
			f.options = func(tool string, _ int) string {
				if tool == "crash" {
					return option
				}
				return ""
			}
			p := beginStateless(t, f, func(s *Session, _ *Stateless) {
				if option == "silent-boot" {
					s.Profile.Startup = 2500 * time.Millisecond
				}
			})
			p.greet()
			p.send(callOf("1", "crash", "{}"), callOf("2", "echo", "{}"))
			if got := failureOf(t, p.answer("1").line).String(); !strings.HasSuffix(got, want) {
				t.Errorf("got %s", got)
			}
			has(t, p.answer("2").line, "tool=echo")
			p.nothing()
		})
		t.Run("discovery "+option, func(t *testing.T) {
			t.Parallel()
			f := newShop()
			f.options = func(tool string, n int) string {
				if n == 0 {
					return option
				}
				return ""
			}
			p := beginStateless(t, f, func(s *Session, _ *Stateless) {
				if option == "silent-boot" {
					s.Profile.Startup = 2500 * time.Millisecond
				}
			})
			p.send(clientHello)
			if a := p.answer("0"); a.Error == nil {
				t.Errorf("got %q", a.line)
			} else if option == "error-boot" {
				has(t, a.line, `"error":{"code":-32000,"message":"no such version","data":{"theirs":1}}`)
			}
			p.send(helloFrom("1", "{}"))
			if a := p.answer("1"); a.Result == nil {
				t.Errorf("the next one: %q", a.line)
			}
			p.nothing()
		})
	}
}

// TestSometimesDies: a server that dies in every third handshake fails every third call
// and no other.
func TestSometimesDies(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(tool string, n int) string {
		if tool == "echo" && n%3 == 2 {
			return "die-boot"
		}
		return ""
	}
	p := beginStateless(t, f, nil)
	p.greet()
	var ids []string
	for i := range 12 {
		ids = append(ids, string(rune('a'+i)))
		p.send(callOf(`"`+ids[i]+`"`, "echo", "{}"))
	}
	failed := 0
	for _, id := range ids {
		if a := p.answer(`"` + id + `"`); a.Error != nil {
			failed++
			has(t, a.line, `"stage":"boot"`, `"tool":"echo"`, "cannot start today")
		}
	}
	if failed != 4 {
		t.Errorf("%d calls have failed", failed)
	}
	p.nothing()
}

// TestFailureIsShared: requests that wait for a start share its failure, and do not start
// another worker each.
func TestFailureIsShared(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "silent-boot" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.Profile.Startup = time.Second })
	p.send(clientHello)
	p.answer("0")
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		p.send(legacy(id, "resources/read", "{}"))
	}
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		failureOf(t, p.answer(id).line)
	}
	if n := f.started(""); n > 4 { // each its own were 6
		t.Errorf("%d starts", n)
	}
	rest, _, status := p.close()
	if rest != "" || status != 1 && status != 0 {
		t.Errorf("status %d, %q", status, rest)
	}
}

// TestReadyWithFullQueue: markReady does not wait for room in the queue, since it holds
// the lock of the session.
func TestReadyWithFullQueue(t *testing.T) {
	t.Parallel()
	f := newShop()
	errors, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Close() })
	s := idleSession(t, Session{Launcher: f, Err: errors}, Stateless{})
	w := &worker{session: s, client: s.client, info: &clientInfo{era: mcpproxy.Legacy}, tool: "echo"}
	w.server.init(s.client, s.client.config.Profile)
	w.queue.init(&countingWriter{}, w.server.answers)
	w.queue.busy = true
	w.server.answers.Add(mcpproxy.Memory)
	killed := &killed{}
	w.proc, s.logLevel = killed, []byte("{}")
	w.markReady()
	if !s.mu.TryLock() || !killed.yes {
		t.Errorf("killed: %v", killed.yes)
	}
}

type killed struct {
	Process
	yes bool
}

func (k *killed) Kill() error { k.yes = true; return nil }

// TestModern: modern calls have no handshake and keep their bytes.
func TestModern(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	call := modern("1", "tools/call", `"name":"echo","arguments":{"n": 9007199254740993}`)
	p.send(call)
	has(t, p.answer("1").line, `{\"n\": 9007199254740993}`, "calls=1")
	p.send(modern("2", "tools/call", `"name":"echo","arguments":{}`))
	p.answer("2")
	if saw := f.saw("echo", 0); saw != call+"\n" || f.started("echo") != 2 {
		t.Errorf("the process saw %q, of %d", saw, f.started("echo"))
	}
	p.nothing()
}

// TestClientsOfModernRequests: each modern request describes its client, and is answered
// for that one.
func TestClientsOfModernRequests(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(_ string, n int) string { return "ttl=60000" }
	p := beginStateless(t, f, nil)
	for i := range 40 {
		id, client := fmt.Sprint(i), fmt.Sprint("client", i%4)
		p.send(modernBy(client, id, "tools/list", ""))
	}
	for i := range 40 {
		p.answer(fmt.Sprint(i))
	}
	if f.started("") != 1 {
		t.Errorf("%d discovery processes", f.started(""))
	}
	for i := range 4 {
		n := strings.Count(f.saw("", 0), fmt.Sprintf(`"name":"client%d"`, i))
		if n == 0 {
			t.Errorf("client %d was given the list of another", i)
		}
	}
	p.nothing()
}

// TestRequestsWithoutVersion: a request that does not describe its client is one of the
// client before, and goes to a worker for that client.
func TestRequestsWithoutVersion(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.send(modern("1", "tools/list", ""))
	p.answer("1")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
	p.answer("2")
	if saw := f.saw("", 0); f.started("") != 1 || !strings.Contains(saw, "logging/setLevel") {
		t.Errorf("the first of %d saw %q", f.started(""), saw)
	}
	p.nothing()
}
