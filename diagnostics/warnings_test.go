package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestArguments checks that paths among the arguments that exist on the host and are not
// granted lead to a warning, and other arguments do not.
func TestArguments(t *testing.T) {
	defaults := func(ev *Evidence) { defaultProfile(ev.Profile); ev.FromCommandLine = true }
	named := func(name, value string) func(*Evidence) {
		return func(ev *Evidence) {
			defaults(ev)
			ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: value, Secret: true, Rule: "--env " + name})
		}
	}
	for _, tt := range []struct {
		name, arg string
		change    func(*Evidence)
		want      []string // "": nothing is said
	}{
		{"a directory", "/home/u/notes", defaults, []string{`not granted: ~/notes.`, "mcp-jail grant github --read ~/notes"}},
		{"where the server's own script makes its directory executable", "/home/u/notes", func(ev *Evidence) {
			defaults(ev)
			for i, e := range ev.Profile.Entries {
				if e.Path == ev.Profile.Workspace {
					ev.Profile.Entries[i].Rights |= policy.Execute
				}
			}
		}, []string{"mcp-jail grant github --read ~/notes"}},
		{"of a configured server", "/home/u/notes", nil, []string{`mcp-jail grant github --read ~/notes`}},
		{"of one with the default policy", "/home/u/notes", func(ev *Evidence) { defaultProfile(ev.Profile) }, []string{`mcp-jail grant github --read ~/notes`}},
		{"the value of an option", "--root=/home/u/notes/a.md", defaults, []string{"--read ~/notes/a.md"}},
		{"relative", "../docs", defaults, []string{"--read ~/docs"}},
		{"of the home directory, which is not replaced", "~/docs", defaults, nil},
		{"a URL", "file:///home/u/docs", defaults, []string{"--read ~/docs"}},
		{"a URL of a database", "sqlite:////home/u/notes/a.md?mode=ro", defaults, []string{"--read ~/notes/a.md"}},
		{"a URL of a database in an option", "--dsn=jdbc:sqlite:/home/u/notes/a.md", defaults, []string{"--read ~/notes/a.md"}},
		{"a relative URL of a database", "sqlite:///notes/a.md", defaults, nil},
		{"a URL of a host", "postgresql:////home/u/docs", defaults, nil},
		{"sensitive", "/home/u/.ssh/id_rsa", defaults, []string{"--read ~/.ssh/id_rsa", "Careful: ", "sensitive path"}},
		{"a socket where the jail has its own /tmp", "/tmp/shared.sock", defaults, []string{"To allow that: mcp-jail grant github --write /tmp/shared.sock", "Careful: "}},
		{"all of the home directory", "/home/u/", defaults, []string{`not granted: ~/. mcp-jail does not suggest allowing it: ~/ is a whole home directory`}},
		{"in a variable", "x", named("THING_PATH", "/home/u/notes/a.md"), []string{`since that is not granted: ~/notes/a.md. To allow that: mcp-jail grant github --read ~/notes/a.md`}},
		{"in an argument and a variable", "/home/u/docs", named("THING_PATH", "/home/u/notes"), []string{`since that is not granted: ~/docs, ~/notes.`, "--read ~/docs --read ~/notes"}},
		{"in both the same", "/home/u/docs", named("THING_PATH", "/home/u/docs"), []string{`since that is not granted: ~/docs.`}},
		{"a secret variable that is a path", "x", named("API_TOKEN_FILE", "/home/u/notes/a.md"), []string{"--read ~/notes/a.md"}},
		{"a socket in a variable", "x", named("DOCKER_HOST", "unix:///tmp/shared.sock"), []string{"--write /tmp/shared.sock", "Careful: "}},
		{"a variable with a URL", "x", named("THING_URL", "https://example.com/home/u/notes"), nil},
		{"a variable with a list", "x", named("THING_DIRS", "/home/u/notes:/home/u/docs"), []string{"--read ~/notes --read ~/docs"}},
		{"a variable of every server", "x", named("SHELL", "/home/u/docs"), nil},
		{"the directory of the client", "x", named("PWD", "/home/u/docs"), nil},
		{"a variable of the package", "x", func(ev *Evidence) {
			named("npm_config_cache", "/home/u/docs")(ev)
			ev.Profile.Env[len(ev.Profile.Env)-1].Rule = policy.PackageEnvironment
		}, nil},
		{"granted", "/home/u/work/out.txt", defaults, nil},
		{"the workspace", ".", defaults, nil},
		{"of the system", "/usr/bin/git", defaults, nil},
		{"a private place itself", "/tmp", defaults, nil},
		{"absent", "/home/u/nothing", defaults, nil},
		{"taken away", "/home/u/work/out.txt", func(ev *Evidence) {
			defaults(ev)
			ev.Profile.Entries = append(ev.Profile.Entries, policy.Entry{Path: "/home/u/work/out.txt", Kind: policy.KindFile, Origin: policy.OriginRule, Rule: "--deny out.txt"})
			slices.SortFunc(ev.Profile.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		}, []string{`not granted: out.txt. Leave out --deny out.txt, if the server may have out.txt`}},
		{"on Windows", "/home/u/notes", func(ev *Evidence) { defaults(ev); ev.Profile.Dir = `C:\work` }, nil},
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

// TestComplaint checks that the stderr of a started server counts where it names something
// that the policy refuses.
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
		ev.Stage, ev.Tool, ev.Method, ev.Stderr = StageStartup, "", "", []string{"running", line}
		ev.Denials = []policy.Denial{{Axis: "fs", Operation: "open", Target: "/home/u/docs", Count: 1}}
		d, ok := Complaint(ev)
		if ok != want || ok && (d.Attribution != Likely || !strings.Contains(d.What, "has started")) {
			t.Errorf("%q: %v: %s", line, ok, d.Text())
		}
	}
}

// TestInaccessible covers the official filesystem server, which names the unreachable path
// in one line and ends with a line that does not.
func TestInaccessible(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.FromCommandLine, ev.Exit = StageStartup, "", "", true, &Exit{Code: 1}
	defaultProfile(ev.Profile)
	ev.Stderr = []string{"Warning: Cannot access directory /home/u/docs, skipping", "Error: None of the specified directories are accessible"}
	d := Diagnose(ev)
	if d.Attribution != Likely || strings.Join(d.Words, " ") != "--read ~/docs" || !strings.Contains(d.Message(), `~/docs`) {
		t.Errorf("%s", d.Text())
	}
	spaced := ev
	spaced.Profile = fixture(defaultProfile)
	spaced.Profile.Argv = []string{"node", "s.js", "/home/u/it's here"}
	spaced.Stderr = []string{"Warning: Cannot access directory /home/u/it's here, skipping", ev.Stderr[1]}
	if d := Diagnose(spaced); d.Attribution != Likely || strings.Join(d.Words, " ") != "--read ~/it's here" {
		t.Errorf("a name that no pattern can tell the end of: %s", d.Text())
	}
	ev.Stderr[0] = "Warning: Cannot access directory /home/u/none, skipping"
	if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 {
		t.Errorf("a directory that is nowhere: %s", d.Text())
	}
}
