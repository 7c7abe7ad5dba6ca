package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestOfJail: a call that succeeded, and whose result names what only the jail has, leads to a note and
// to the flag that makes it real.
func TestOfJail(t *testing.T) {
	home := fixture(nil).Home
	tried := []policy.Unanswered{{Host: "localhost", Port: 5037}}
	for _, tt := range []struct {
		name, text  string
		unanswered  []policy.Unanswered
		note, words string
	}{
		{"a file in /tmp", "Screenshot saved to /tmp/shot.png", nil, "is in the /tmp of the jail", ""},
		{"a file in the server's HOME", "wrote " + home + "/docs/out.txt", nil, "the server's own HOME", "--write ~/docs"},
		{"a port of the jail", "open http://localhost:3000/", nil, "listens at port 3000", "--inbound 3000"},
		{"a port that the server tried", `{"devices": []}`, tried, "localhost:5037", "--net localhost:5037"},
		{"control: a file that this machine has", "read /tmp/shared.sock", nil, "", ""},
		{"control: a port that leads in", "open http://localhost:4000/", nil, "", ""},
		{"control: a port of another machine", "open http://localhost:9999/", nil, "", ""},
		{"control: a port that happens always", "ok", []policy.Unanswered{{Host: "localhost", Port: 5037, Background: true}}, "", ""},
		{"control: other words", "3000 rows", nil, "", ""},
	} {
		ev := evidence(tt.text)
		ev.Unanswered, ev.Profile.Inbound = tt.unanswered, []int{4000}
		ev.Listening = func() ([]int, bool) { return []int{3000, 4000}, true }
		ev.Listens = func(host string, port int) bool { return port == 5037 }
		ev.Exists = func(path string) bool { return someHost.exists(path) || path == home+"/docs/out.txt" }
		d, ok := OfJail(ev)
		if ok != (tt.note != "") || !strings.Contains(d.Cause, tt.note) || strings.Join(d.Words, " ") != tt.words {
			t.Errorf("%s: %v %q %q", tt.name, ok, d.Cause, d.Words)
		}
		if ok && len(tt.unanswered) == 0 && !MayBeOfJail(ev.Profile, tt.text) {
			t.Errorf("%s: is not looked at", tt.name)
		}
	}
}
