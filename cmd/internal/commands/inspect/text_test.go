package inspect

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestCommandText: two rules that allow different starts read differently.
func TestCommandText(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name string
		args [][]string
		want string
	}](t, "command-texts.txt") {
		if got := commandText(policy.Command{Name: c.name, Args: c.args}); got != c.want {
			t.Errorf("%q: %s, want %s", c.args, got, c.want)
		}
	}
}

// TestPlanWithoutJail checks that the plan of a system that has no jail begins with that, and that
// another plan does not.
func TestPlanWithoutJail(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	server, err := session.Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: []string{"/bin/sh"}})
	testkit.Must(t, err)
	gaps := []confine.Gap{{Axis: policy.AxisFs, What: "anything", Why: "confinement on darwin is not implemented", Fatal: true}}
	const begins = "nothing below is enforced on this machine: confinement on darwin is not implemented. The policy is:\n"
	for want, plan := range map[bool]*confine.Plan{
		true:  {Profile: server.Profile, Gaps: gaps},
		false: {Profile: server.Profile, Gaps: gaps, Enforced: []confine.Enforcement{{Axis: policy.AxisEnv, By: "execve"}}},
	} {
		text := reportOf(server, plan, &confine.GapError{Gaps: gaps}).Text(terminal.Console{}, false)
		if strings.HasPrefix(text, begins) != want || !strings.Contains(text, "\nnot enforced on this machine\n  files: anything: ") {
			t.Errorf("want the note: %v:\n%s", want, text)
		}
	}
}

// TestPlanScreen has the screen of a plan at 80 columns, without a word about the kernel.
func TestPlanScreen(t *testing.T) {
	rule := func(path, named, place string, rights policy.Rights) policy.Entry {
		return policy.Entry{Path: path, Named: named, Rights: rights, Origin: policy.OriginRule, Rule: place + ": path = \"" + named + "\""}
	}
	const file = "/home/u/.config/mcp-jail/servers/notes.toml"
	r := &Report{
		Profile: &policy.Profile{
			Server: "notes", Program: "/usr/bin/node", Argv: []string{"node", "/home/u/notes.js"}, Dir: "/home/u/project", Workspace: "/home/u/project",
			Home: "/home/u/.local/state/mcp-jail/servers/notes/home", HomePrivate: true, Limits: policy.DefaultLimits, Startup: policy.DefaultStartup,
			Entries: []policy.Entry{
				rule("/home/u/notes", "~/notes", file+":5", policy.Read),
				rule("/home/u/notes/drafts", "~/notes/drafts", file+":8", policy.Read|policy.Write),
				{Path: "/home/u/notes/.env", Origin: policy.OriginSensitive},
				{Path: "/home/u/.local/state/mcp-jail/servers/notes/home", Rights: policy.AllRights, Origin: policy.OriginHome},
			},
			Net:      []policy.NetRule{{Host: "api.example.org", Scheme: "https", Allow: true, Secrets: []policy.Secret{{Env: "API_KEY", Command: []string{"pass", "show", "key"}}}}},
			Env:      []policy.Variable{{Name: "API_KEY", Value: policy.Placeholder("API_KEY")}, {Name: "NOTES_TOKEN", Value: "0123456789abcdef", Secret: true}, {Name: "PATH", Rule: policy.MinimalEnvironment}},
			Withheld: []string{"EDITOR", "SSH_AUTH_SOCK"},
		},
		Enforced: []confine.Enforcement{{Axis: policy.AxisFs, What: "nothing exists but the listed paths", By: "a mount namespace, Landlock"}},
		Gaps:     []confine.Gap{{Axis: policy.AxisLimits, What: "processes = 512", Why: "there is no cgroup for it", Waived: true}},
		Warnings: []string{file + ":12: the variable UNSET_ONE is granted and not set"},
		policy:   &policy.Policy{Where: file + ":2", Stateful: true}, pkg: "", os: "linux", home: "/home/u",
	}
	testkit.Golden(t, "plan.golden", terminal.Fold(r.Text(terminal.Console{}, false), 80))
}

// TestPlanOfAMac: the plan of a Mac names its own mechanisms and places, and no one of Linux.
func TestPlanOfAMac(t *testing.T) {
	data, err := os.ReadFile("../../../../confine/internal/plan/testdata/mac_plan.json")
	testkit.Must(t, err)
	plan := &confine.Plan{Profile: &policy.Profile{
		Server: "notes", Program: "/opt/homebrew/bin/node", Argv: []string{"node", "server.js"}, Dir: "/Users/u/work",
		Entries: []policy.Entry{
			{Path: "/Users/u/work", Named: ".", Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule, Rule: "--write ."},
			{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline, Rule: resolve.BaselineRule},
		},
		Net: []policy.NetRule{{Host: "api.example.org", Allow: true}}, GitConfig: "[user]\n", Home: "/Users/u/state", HomePrivate: true, Limits: policy.DefaultLimits,
	}}
	testkit.Must(t, json.Unmarshal(data, plan))
	here, _ := os.Getwd()
	texts := map[string]string{}
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	target, err := session.Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: []string{"/bin/sh"}})
	testkit.Must(t, err)
	target.Profile, target.Policy = plan.Profile, &policy.Policy{Server: "notes", Stateful: true, Waive: []policy.Axis{policy.WaiveWindows}}
	target.Host.Home = "/Users/u"
	open := &confine.GapError{Gaps: plan.Gaps, Waive: confine.WaiversFor(plan.Gaps, nil)}
	text := func(system string, open *confine.GapError, verbose bool) string {
		target.Host.OS = system
		return terminal.Fold(reportOf(target, plan, open).Text(terminal.Console{}, verbose), 80)
	}
	for _, verbose := range []bool{false, true} {
		texts[fmt.Sprintf("plan_mac_%t.golden", verbose)] = text("darwin", open, verbose)
	}
	t.Chdir(here)
	for name, text := range texts {
		testkit.Golden(t, name, text)
	}
	all := text("darwin", nil, true)
	for _, word := range []string{"Landlock", "seccomp", "namespace", "cgroup", "/proc", "/dev/shm", "kernel", "mount", "Linux"} {
		if strings.Contains(all, word) {
			t.Errorf("the plan of a Mac speaks of %s:\n%s", word, all)
		}
	}
	for _, word := range []string{"/usr and", "/dev/shm", "/System/Library", "gitconfig"} {
		if strings.Contains(text("windows", nil, false), word) {
			t.Errorf("the plan on Windows speaks of %s", word)
		}
	}
}
