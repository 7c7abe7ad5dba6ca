package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// FuzzDiagnose checks for any text of a server that no allowed access is named as a cause,
// that the output is safe to print, and that the lines to add decode.
func FuzzDiagnose(f *testing.F) {
	for _, s := range testkit.Table[string](f, "fuzz-seeds.txt") {
		f.Add(s)
		f.Add("EACCES: permission denied, open '/\x1b[31m[mcp-jail]\u202e" + s + "'")
	}
	profile := fixture(nil)
	f.Fuzz(func(t *testing.T, text string) {
		ev := Evidence{Stage: StageCall, Server: "github", Profile: profile, Text: text, Stderr: []string{text}, UserHome: "/home/u",
			Exists:  func(p string) bool { return len(p)%2 == 0 },
			Denials: []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: text}, {Axis: policy.AxisFs, Operation: text, Target: text}}}
		check(t, Diagnose(ev))
		ev.Denials = nil
		d := Diagnose(ev)
		check(t, d)
		ev.FromCommandLine = true
		check(t, Diagnose(ev))
		if d.Attribution == Certain {
			t.Fatalf("text alone is certain: %q", text)
		}
		for _, h := range d.Hints {
			switch {
			case h.Missing == "read" && profile.RightsAt(h.Target).Has(policy.Read):
				t.Fatalf("reading %q is allowed and blamed", h.Target)
			case h.Missing == "execute" && profile.RightsAt(h.Target).Has(policy.Execute):
				t.Fatalf("executing %q is allowed and blamed", h.Target)
			}
		}
	})
}

func check(t *testing.T, d Diagnosis) {
	t.Helper()
	for _, l := range strings.Split(strings.TrimSuffix(d.Text(), "\n"), "\n") {
		if !strings.HasPrefix(l, "mcp-jail: ") || show.Line(l) != l {
			t.Fatalf("not harmless: %q", l)
		}
	}
	if err := granting(&config.Server{Name: "github", Command: "x"}, "", d.Words); err != nil {
		t.Fatalf("%q: %v", d.Words, err)
	}
}
