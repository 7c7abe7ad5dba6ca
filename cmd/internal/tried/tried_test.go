package tried

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestFlags: a word has flags that grant, and no other.
func TestFlags(t *testing.T) {
	for _, c := range []struct{ word, want, fault string }{
		{"--read ~/notes --net api.github.com", "--read ~/notes --net api.github.com", ""},
		{`--read 'my notes' --read "a b"c`, "--read my notes --read a bc", ""},
		{"--preset=github  --deny x", "--preset github --deny x", ""},
		{"--waive fs", "", "--waive cannot be tried"},
		{"--learn none", "", "--learn cannot be tried"},
		{"--try x", "", "--try cannot be tried"},
		{"--config x", "", "--config cannot be tried"},
		{"--home real", "", "--home cannot be tried"},
		{"--read x server", "", "unexpected argument server"},
		{"--read 'x", "", "a quote is not closed"},
		{"--rad x", "", "unknown flag"},
	} {
		p, err := Load(c.word, "/home/u")
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v", c.word, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.word, err)
		default:
			if got := strings.Join(p.Flags.Words(), " "); got != c.want {
				t.Errorf("%s: %s", c.word, got)
			}
		}
	}
}

// TestHostileFile: the name of a file cannot write lines of its own, and no file is waited for.
func TestHostileFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x\nmcp-jail: all is well\x1b[2J")
	if err := os.WriteFile(name, []byte("version = 1\n[servers.s]\ncommand = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(name, dir)
	if err != nil || p.Name != show.Line(p.Name) || p.Server != "s" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, given := range []string{name + "2", dir, "/dev/zero"} {
		_, err := Load(given, dir)
		if err == nil {
			t.Fatalf("%q was read", given)
		}
		if said, _, _ := strings.Cut(err.Error(), "\n  fix: name a file"); strings.ContainsAny(said, "\n\x1b") {
			t.Errorf("%q: %q", given, err)
		}
	}
	if err := os.WriteFile(name, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(name, dir); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
}

// TestSession: what the policy that is tried refuses is kept, each with its count; what the policy in
// force refused is not; what is too much is counted.
func TestSession(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
	w, err := observed.Create(host, "s", observed.Head{Policy: "p"})
	if err != nil {
		t.Fatal(err)
	}
	s := Begin(w)
	force := &policy.Profile{Server: "s", Env: []policy.Variable{{Name: "TOKEN", Value: "secret-value", Secret: true}}}
	strict := &policy.Profile{Server: "s"}
	p := s.Process(force, func() (*Judge, error) {
		return &Judge{Tried: &Policy{Name: "p"}, Evidence: diagnostics.Evidence{Server: "s", Profile: strict, Redactor: diagnostics.NewRedactor(force.Env)}}, nil
	})
	p.CallBegins("tool")
	read := policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/srv/secret-value", Count: 1}
	for range 5 {
		p.Observe(read)
	}
	refused := read
	refused.Target, refused.Refused = "/srv/refused", true
	p.Observe(refused)
	for i := range maxRefusals + 5 {
		read.Target = fmt.Sprintf("/srv/%d", i)
		p.Observe(read)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.Observe(read) // a process that outlives the session
	all, err := observed.Sessions(host, "s")
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	kept, fives, withheld := 0, 0, 0
	for _, r := range all[0].Refusals {
		if kept += r.Count; r.Tried == "" || !strings.HasPrefix(r.What, "the policy that is tried") || strings.Contains(r.Cause, "the jail refused") {
			t.Errorf("%+v", r)
		}
		switch {
		case strings.Contains(r.Cause, "the variable TOKEN"):
			withheld++
		case strings.Contains(r.Cause, "TOKEN"): // in place of its value
			fives += r.Count
		}
		if line, _ := json.Marshal(r); strings.Contains(string(line), "secret-value") || strings.Contains(string(line), "/srv/refused") || (r.Tool == "tool") == strings.Contains(r.Cause, "the variable TOKEN") {
			t.Errorf("%s", line)
		}
	}
	if withheld != 1 || fives != 5 || kept+all[0].Left != 1+5+maxRefusals+5 || all[0].Left == 0 {
		t.Errorf("kept %d, left %d, withheld %d, of the five %d", kept, all[0].Left, withheld, fives)
	}
}
