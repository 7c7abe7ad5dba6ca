package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestElsewhere: what is refused is elsewhere than in the policy, or in another part of
// it than the text has.
func TestElsewhere(t *testing.T) {
	const (
		list     = "Access denied - path outside allowed directories: /home/u/notes/a.md not in /home/u/work"
		around   = "fatal: not a git repository (or any parent up to mount point /home/u/notes)\nStopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set)."
		ofNotes  = `[[servers.github.access.fs]]; path = "~/notes"; read = true`
		ofSocket = "dial unix /run/absent.sock: connect: permission denied"
	)
	repository := func(ev *Evidence) {
		ev.Exists = func(path string) bool { return path == "/home/u/notes/.git" || someHost.exists(path) }
	}
	for _, tt := range []struct {
		name, text string
		change     func(*Evidence)
		want       Attribution
		grant      string
	}{
		{"a root of the client's that is not granted", list, func(ev *Evidence) { ev.Roots = []string{"/home/u/notes"} }, Likely, ofNotes},
		{"one that is, and it refuses all the same", list, func(ev *Evidence) {
			ev.Roots = []string{"/home/u/notes"}
			ev.Profile.Entries = append(ev.Profile.Entries[:1:1], append([]policy.Entry{{Path: "/home/u/notes", Rights: policy.Read}}, ev.Profile.Entries[1:]...)...)
		}, None, ""},
		{"what lies in no root", list, func(ev *Evidence) { ev.Roots = []string{"/home/u/work"} }, None, ""},
		{"git, about another directory", around, repository, Likely, ofNotes},
		{"git, and there is none", around, nil, None, ""},
		{"a socket that is not there", ofSocket, nil, None, ""},
		{"a path of another machine", "Error: EACCES: permission denied, open '/projects/42/config.yml'", nil, None, ""},
		{"a new file of this one", "Error: EACCES: permission denied, open '/data/notes/new.md'", nil, Likely, `[[servers.github.access.fs]]; path = "/data/notes"; write = true`},
		{"a directory that the host does not let its user look into", "ls: cannot open directory 'src': Permission denied", func(ev *Evidence) {
			for i, e := range ev.Profile.Entries {
				if e.Path == "/home/u/work/src" {
					ev.Profile.Entries[i] = policy.Entry{Path: e.Path, Origin: policy.OriginSensitive, Rule: policy.Unsearched}
				}
			}
		}, None, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Grant, "; "); d.Attribution != tt.want || got != tt.grant {
				t.Errorf("got %s, %s\nwant %s, %s\n%s", d.Attribution, got, tt.want, tt.grant, d.Text())
			}
		})
	}
}
