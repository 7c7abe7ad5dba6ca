package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestComplaint: words of a server that has started count where they name what its
// policy refuses.
func TestComplaint(t *testing.T) {
	for line, want := range map[string]bool{
		"Warning: Cannot access directory /home/u/docs, skipping": true,
		"EACCES: permission denied, open '/home/u/notes/a.md'":    true,
		"FOO_TOKEN environment variable is not set":               true,
		"Warning: Cannot access directory /home/u/none, skipping": false,
		"serving /home/u/docs":                                    false,
		"permission denied":                                       false,
		"BAR_TOKEN environment variable is not set":               false,
		"": false,
	} {
		ev := evidence("")
		ev.Stage, ev.Tool, ev.Method, ev.Stderr = StageBoot, "", "", []string{"running", line}
		ev.Denials = []policy.Denial{{Axis: "fs", Operation: "open", Target: "/home/u/docs", Count: 1}}
		d, ok := Complaint(ev)
		if ok != want || ok && (d.Attribution != Likely || !strings.Contains(d.What, "has started")) {
			t.Errorf("%q: %v: %s", line, ok, d.Text())
		}
	}
}

// TestInaccessible: the official filesystem server names what it could not reach, and
// then dies without a name.
func TestInaccessible(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.FromCommandLine, ev.Exit = StageBoot, "", "", true, &Exit{Code: 1}
	defaultProfile(ev.Profile)
	ev.Stderr = []string{"Warning: Cannot access directory /home/u/docs, skipping", "Error: None of the specified directories are accessible"}
	d := Diagnose(ev)
	if d.Attribution != Likely || strings.Join(d.Flags, " ") != "--write . --read ~/docs" || !strings.Contains(d.Message(), `"~/docs", which exists on the host but is not granted`) {
		t.Errorf("%s", d.Text())
	}
	spaced := ev
	spaced.Profile = fixture(defaultProfile)
	spaced.Profile.Argv = []string{"node", "s.js", "/home/u/it's here"}
	spaced.Stderr = []string{"Warning: Cannot access directory /home/u/it's here, skipping", ev.Stderr[1]}
	if d := Diagnose(spaced); d.Attribution != Likely || strings.Join(d.Flags, " ") != `--write . --read ~/'it'\''s here'` {
		t.Errorf("a name that no pattern can tell the end of: %s", d.Text())
	}
	ev.Stderr[0] = "Warning: Cannot access directory /home/u/none, skipping"
	if d := Diagnose(ev); d.Attribution != None || len(d.Flags) > 0 {
		t.Errorf("a directory that is nowhere: %s", d.Text())
	}
}
