//go:build linux

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A client is a program that plays a plan with an MCP client library and reports what the
// library returned.
type client struct {
	name string // with its mode
	made string
	mode string
	argv func(*site) []string
}

// dashed returns the name in the form that file names have.
func (c client) dashed() string { return strings.ReplaceAll(c.name, " ", "-") }

func script(name string) func(*site) []string {
	return func(s *site) []string { return []string{s.node, filepath.Join(s.base, "clients", name)} }
}

func program(name string) func(*site) []string {
	return func(s *site) []string { return []string{filepath.Join(s.bin, name)} }
}

var clients = []client{
	{"ts1", "TypeScript SDK 1.x", "legacy", script("ts1.mjs")},
	{"ts2 legacy", "TypeScript SDK 2.x", "legacy", script("ts2.mjs")},
	{"ts2 auto", "TypeScript SDK 2.x", "auto", script("ts2.mjs")},
	{"ts2 pinned", "TypeScript SDK 2.x", "2026-07-28", script("ts2.mjs")},
	{"mcpgo legacy", "mcp-go", "legacy", program("mcpgo")},
	{"mcpgo auto", "mcp-go", "auto", program("mcpgo")},
	{"gosdk", "Go SDK", "auto", program("gosdk")},
}

// plan is the input of a client: see clients/play.
type plan struct {
	Mode    string           `json:"mode"`
	Server  planServer       `json:"server"`
	Roots   []planRoot       `json:"roots"`
	Actions []map[string]any `json:"actions"`
}

type planServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
}

type planRoot struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// session reads sessions/NAME.json for a client. A member "clients" restricts an action to
// the named libraries, "eras" to one era.
func session(t *testing.T, s *site, c client, sv server) (actions []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("sessions", sv.name+".json"))
	must(t, err)
	text := strings.NewReplacer("$WORK", s.work, "$CLIENT", c.dashed()).Replace(string(b))
	text = repeated.ReplaceAllStringFunc(text, func(r string) string {
		m := repeated.FindStringSubmatch(r)
		times, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], times)
	})
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	must(t, d.Decode(&actions))
	return slices.DeleteFunc(actions, func(a map[string]any) bool {
		only, _ := a["clients"].(string)
		library, _, _ := strings.Cut(c.name, " ")
		return only != "" && !slices.Contains(strings.Fields(only), library) || a["eras"] == "legacy" && c.mode == "2026-07-28"
	})
}

// report plays a session on one side and returns the report of the client.
func report(t *testing.T, s *site, c client, sv server, how side) any {
	t.Helper()
	return played(t, s, c, sv, how, session(t, s, c, sv))
}

// played plays actions on one side and returns the report of the client.
func played(t *testing.T, s *site, c client, sv server, how side, actions []map[string]any) any {
	t.Helper()
	argv := how(s, sv)
	env := map[string]string{}
	for _, pair := range s.env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	p := plan{
		Mode:    c.mode,
		Server:  planServer{Command: argv[0], Args: argv[1:], Cwd: s.work, Env: env},
		Actions: actions,
	}
	if sv.name != "filesystem" { // it would serve the roots instead of its argument
		p.Roots = []planRoot{{"file://" + s.work, "wörk"}}
	}
	b, err := json.Marshal(p)
	must(t, err)
	out := s.output(t, b, c.argv(s)...)
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, clip(out))
	}
	return v
}

// paired reports whether a client meets a server. All meet with -update, since RESULTS.md has
// every pair. One client meets the odd server, which does everything that servers do. In make test-long every
// client meets the odd server. The other servers meet two clients of different libraries and eras,
// and one that cannot speak with an older server tries.
func paired(c client, sv server) bool {
	switch {
	case *update || longForms() && sv.name == "odd":
		return true
	case !longForms():
		return sv.name == "odd" && c.name == "ts2 auto"
	case sv.made == "TypeScript SDK 1.x":
		return c.name == "ts1" || c.name == "gosdk" || c.name+sv.name == "ts2 pinnedeverything"
	}
	return c.name == "ts2 auto" || c.name == "mcpgo legacy"
}

// TestClients compares clients with servers: bare, in the jail, and with a process and a jail
// for every call. Fewer clients play the latter: it takes longest.
func TestClients(t *testing.T) {
	s := here(t)
	departed := &departing{seen: map[departure]bool{}}
	t.Cleanup(func() { departed.check(t) }) // when all have ended
	for _, c := range clients {
		for _, sv := range servers {
			if !paired(c, sv) {
				continue
			}
			alone := playsStateless(c, sv)
			if alone {
				departed.due++
			}
			t.Run(c.name+"/"+sv.name, func(t *testing.T) {
				t.Parallel()
				want := report(t, s, c, sv, plain)
				// A client that cannot connect compares little. Only the pinned client cannot:
				// it does not speak the protocol of the older servers.
				if old := sv.made == "TypeScript SDK 1.x"; connected(want) == (old && c.mode == "2026-07-28") {
					t.Errorf("connected to the bare server: %v", connected(want))
				}
				if lost := closed.FindString(errorsIn(want)); lost != "" {
					t.Errorf("the session with the bare server broke off: %s", lost)
				}
				got, additions := lessAdditions(report(t, s, c, sv, jailed))
				faults := differences("", want, got)
				// Some clients choose the protocol by how soon the first answer comes. Only if two
				// sessions without a jail agree, a difference is the jail's.
				for tries := 0; len(faults) > 0; tries++ {
					bare := report(t, s, c, sv, plain)
					unsteady := differences("", want, bare)
					if len(unsteady) == 0 {
						t.Error(strings.Join(faults[:min(10, len(faults))], "\n"))
						break
					}
					if tries == 3 {
						t.Errorf("two sessions without a jail differ each time: %s", strings.Join(unsteady[:min(3, len(unsteady))], "\n"))
						break
					}
					want = bare
					got, additions = lessAdditions(report(t, s, c, sv, jailed))
					faults = differences("", want, got)
				}
				results.add(t, "clients", c.name+" → "+sv.name, tally{sessions: 1, answers: answers(want), additions: additions})
				if alone {
					departed.stateless(t, s, c, sv, want)
				}
			})
		}
	}
}

// closed matches the errors of libraries whose session broke off.
var closed = regexp.MustCompile(`(?i)connection closed|client is closing|transport.{0,10} closed`)

// connected reports whether a client could connect.
func connected(report any) bool {
	r, _ := report.(map[string]any)
	return r["server"] != nil
}

// errorsIn returns the errors among the answers.
func errorsIn(report any) string {
	r, _ := report.(map[string]any)
	list, _ := r["answers"].([]any)
	var all []any
	for _, a := range list {
		if m, ok := a.(map[string]any); ok && m["error"] != nil {
			all = append(all, m["error"])
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(b)
}

// answers counts the answers, requests and notifications in a report.
func answers(report any) (n int) {
	r, _ := report.(map[string]any)
	list, _ := r["answers"].([]any)
	n = len(list)
	for _, name := range []string{"asked", "heard"} {
		methods, _ := r[name].(map[string]any)
		for _, list := range methods {
			all, _ := list.([]any)
			n += len(all)
		}
	}
	return n
}

// lessAdditions removes from results with isError the block that docs/reference.md, "Answers
// to tool calls", promises, and counts the blocks.
func lessAdditions(v any) (out any, n int) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			var more int
			v[i], more = lessAdditions(v[i])
			n += more
		}
	case map[string]any:
		for name := range v {
			var more int
			v[name], more = lessAdditions(v[name])
			n += more
		}
		meta, _ := v["_meta"].(map[string]any)
		_, denied := meta["dev.mcp-jail/denials"]
		content, _ := v["content"].([]any)
		if v["isError"] != true || denied || len(content) == 0 {
			return v, n
		}
		last, _ := content[len(content)-1].(map[string]any)
		words, _ := last["text"].(string)
		if !strings.HasPrefix(words, "\n[mcp-jail]") {
			return v, n
		}
		v["content"] = content[:len(content)-1]
		n++
	}
	return v, n
}

// differences lists the paths at which two values differ.
func differences(at string, want, got any) (faults []string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for name := range w {
			names[name] = true
		}
		for name := range g {
			names[name] = true
		}
		for name := range names {
			a, b := w[name], g[name]
			// A missing object counts as an empty one, so that the list has a path for each
			// of its members, as the departures do.
			if m, ok := b.(map[string]any); ok && a == nil && len(m) > 0 {
				a = map[string]any{}
			} else if m, ok := a.(map[string]any); ok && b == nil && len(m) > 0 {
				b = map[string]any{}
			}
			faults = append(faults, differences(at+"."+name, a, b)...)
		}
		slices.Sort(faults)
		return faults
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			faults = append(faults, differences(fmt.Sprint(at, "[", i, "]"), w[i], g[i])...)
		}
		return faults
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", at, brief(want), brief(got))}
}

func brief(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 300 {
		return fmt.Sprintf("%s… (%d bytes)", b[:300], len(b))
	}
	return string(b)
}
