package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestArguments: what is there on the host and not granted is warned of, with what
// grants it; all else passes without a word.
func TestArguments(t *testing.T) {
	defaults := func(ev *Evidence) { defaultProfile(ev.Profile); ev.FromCommandLine = true }
	for _, tt := range []struct {
		name, arg string
		change    func(*Evidence)
		want      []string // "": nothing is said
	}{
		{"a directory", "/home/u/notes", defaults, []string{`not granted: "~/notes"`, "start it with --write . --read ~/notes (or --write, where"}},
		{"where the server's own script makes its directory executable", "/home/u/notes", func(ev *Evidence) {
			defaults(ev)
			for i, e := range ev.Profile.Entries {
				if e.Path == ev.Profile.Workspace {
					ev.Profile.Entries[i].Rights |= policy.Execute
				}
			}
		}, []string{"start it with --write . --read ~/notes (or"}},
		{"of a configured server", "/home/u/notes", nil, []string{`path = "~/notes", read = true under [[servers.github.access.fs]] (or write = true`}},
		{"of one with the default policy", "/home/u/notes", func(ev *Evidence) { defaultProfile(ev.Profile) }, []string{`add path = ".", read = true, write = true under`, `, and path = "~/notes", read = true under`}},
		{"the value of an option", "--root=/home/u/notes/a.md", defaults, []string{"--read ~/notes/a.md"}},
		{"relative", "../docs", defaults, []string{"--read ~/docs"}},
		{"of the home directory", "~/docs", defaults, []string{"--read ~/docs"}},
		{"a URL", "file:///home/u/docs", defaults, []string{"--read ~/docs"}},
		{"sensitive", "/home/u/.ssh/id_rsa", defaults, []string{"--read ~/.ssh/id_rsa", "careful: ", "sensitive path"}},
		{"a socket where the jail has its own /tmp", "/tmp/shared.sock", defaults, []string{"--read /tmp/shared.sock"}},
		{"all of the home directory", "~/", defaults, []string{`not granted: "~/"; grant what the server needs in "~/", not all of it`}},
		{"granted", "/home/u/work/out.txt", defaults, nil},
		{"the workspace", ".", defaults, nil},
		{"of the system", "/usr/bin/git", defaults, nil},
		{"a private place itself", "/tmp", defaults, nil},
		{"absent", "/home/u/nothing", defaults, nil},
		{"a package", "@scope/notes", defaults, nil},
		{"a word", "notes", defaults, nil},
		{"an option", "-y", defaults, nil},
		{"proc", "/proc/self", func(ev *Evidence) { defaults(ev); ev.Exists = func(string) bool { return true } }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("")
			if tt.change != nil {
				tt.change(&ev)
			}
			ev.Profile.Argv = []string{"node", "/home/u/work/server.js", tt.arg}
			got := Arguments(ev)
			if (got == "") != (tt.want == nil) {
				t.Errorf("said %q", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("said %q, without %q", got, want)
				}
			}
		})
	}
}
