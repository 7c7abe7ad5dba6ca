package diagnostics

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// failure is a row of testdata/failures.toml: real words of a runtime or a server, and what they lead
// to under the fixture's profile. Without sure, nothing is said.
type failure struct {
	Name, Text string

	Argv, Exists, Roots, Withheld, Unset []string
	Env                                  map[string]string
	Ends                                 bool   // the server ended at its start; the text is on stderr
	StartDir                             string `toml:"start_dir"`
	System                               string

	Sure            Attribution
	Target, Missing string // of the first hint
	Words           string // for mcp-jail grant
	Note            string // part of the cause, where nothing is proposed
}

func (f failure) evidence() Evidence {
	ev := evidence(f.Text)
	if f.Ends {
		ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1}
		ev.Text, ev.Stderr = "", strings.Split(f.Text, "\n")
	}
	if f.Argv != nil {
		ev.Profile.Argv = f.Argv
	}
	for name, value := range f.Env {
		ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: value, Rule: "test"})
	}
	ev.Profile.Withheld = append(ev.Profile.Withheld, f.Withheld...)
	ev.Roots, ev.Unset, ev.StartDir, ev.System = f.Roots, f.Unset, f.StartDir, f.System
	if f.StartDir != "" {
		ev.Profile.Dir = ev.Profile.Home
	}
	more := host{}
	for _, path := range f.Exists {
		more[path] = true
	}
	ev.Exists = func(path string) bool { return someHost.exists(path) || more.exists(path) && path != "/" }
	return ev
}

// TestFailures: each row has its cause, and the least grant that helps.
func TestFailures(t *testing.T) {
	data, err := os.ReadFile("testdata/failures.toml")
	testkit.Must(t, err)
	var all struct{ Failure []failure }
	testkit.Must(t, toml.Unmarshal(data, &all))
	for _, f := range all.Failure {
		d := Diagnose(f.evidence())
		got := failure{Sure: d.Attribution, Words: strings.Join(d.Words, " ")}
		if len(d.Hints) > 0 {
			got.Target, got.Missing = d.Hints[0].Target, d.Hints[0].Missing
		}
		if got.Sure != cmp.Or(f.Sure, None) || got.Target != f.Target || got.Missing != f.Missing || got.Words != f.Words || !strings.Contains(d.Cause, f.Note) || f.Sure == "" && f.Note == "" && d.Cause != "" {
			t.Errorf("%s: %q\n got %s, %s %q: %s\nwant %s, %s %q: %s\n%s", f.Name, f.Text, got.Sure, got.Missing, got.Target, got.Words, cmp.Or(f.Sure, None), f.Missing, f.Target, f.Words, d.Cause)
		}
		if d.Attribution != Certain && slices.ContainsFunc(d.Words, func(w string) bool { return strings.Contains(w, ".ssh") }) {
			t.Errorf("%s: words of the server lead to a grant of keys", f.Name)
		}
	}
}
