package session

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestAttempt tests that grants with which a server would not start are found, for a server of a file and for one
// that the command line declares.
func TestAttempt(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	work := filepath.Join(home, "work")
	for _, dir := range []string{work, filepath.Join(work, "hidden"), filepath.Join(home, "notes")} {
		testkit.Must(t, os.MkdirAll(dir, 0o700))
	}
	t.Chdir(work)
	file := filepath.Join(home, "c.toml")
	load := func(lines ...string) *Target {
		t.Helper()
		text := "version = 1\n[servers.s]\ncommand = \"sh\"\nworkspace = " + show.TOML(work) + "\n" + strings.Join(lines, "\n") + "\n"
		testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
		target, err := Resolve(cmdline.ConfigFlags{Config: []string{file}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
		testkit.Must(t, err)
		return target
	}
	given := func(flags cmdline.PolicyFlags) *Target {
		t.Helper()
		target, err := Resolve(cmdline.ConfigFlags{}, flags, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
		testkit.Must(t, err)
		return target
	}
	all := []string{"[[servers.s.access.fs]]", `path = "."`, "read = true", "write = true"}
	wide := cmdline.PolicyFlags{Name: "s", Write: []string{"."}}
	for _, tt := range []struct {
		name   string
		target *Target
		words  string
		wrong  bool
	}{
		{"a path", load(all...), "--read ~/notes", false},
		{"no rules yet", load(), "--read ~/notes", false},
		{"a limit beside others", load(append([]string{"[servers.s.limits]", "memory_mb = 4096"}, all...)...), "--limit memory_mb=8192", false},
		{"a path without meaning", load(all...), "--read x/*", true},
		{"fewer rights than the rule around it gives", load(all...), "--read hidden", true},
		{"a flag of a line", given(wide), "--read ~/notes --env A --limit memory_mb=99 --net a.test", false},
		{"a path of a line without meaning", given(wide), "--read x/*", true},
	} {
		objects, err := change.Read(strings.Fields(tt.words))
		testkit.Must(t, err)
		for _, o := range objects {
			p := tt.target.Decide(change.Want{Source: change.Recorded, Object: o})[0]
			if p.Is(policy.WhyWouldNotStart) != tt.wrong || p.IsOpen() == tt.wrong {
				t.Errorf("%s: %+v", tt.name, p)
			}
		}
	}
	gone := load(all...)
	testkit.Must(t, os.WriteFile(file, []byte("version ="), 0o600))
	if p := gone.Decide(change.Want{Source: change.Recorded, Object: change.Path("~/notes", policy.Read)})[0]; !p.IsOpen() {
		t.Errorf("a file that is broken without them: %+v", p)
	}
}

// TestIsNew has why a server does not start with proposed lines, and why it does not without them.
func TestIsNew(t *testing.T) {
	gaps := func(all ...confine.Gap) error { return &confine.GapError{Gaps: all} }
	fs, net := confine.Gap{Axis: policy.AxisFs, What: "a", Paths: []string{"/a"}}, confine.Gap{Axis: policy.AxisNet, What: "a", Paths: []string{"/a"}}
	words, paths := fs, fs
	words.What, paths.Paths = "b", []string{"/b"}
	other := errors.New("a mistake")
	// A running mcp-jail finds the same gap for a limit that cannot be held with each number.
	four, eight, memory := confine.Gap{Axis: policy.AxisLimits, What: "processes = 4"}, confine.Gap{Axis: policy.AxisLimits, What: "processes = 8"}, confine.Gap{Axis: policy.AxisLimits, What: "memory_mb = 4"}
	// As an ordinary user's running mcp-jail sees any policy: it cannot ask for namespaces again.
	bare := func(all ...confine.Gap) error {
		return &confine.GapError{Gaps: all, HostNamespaces: confine.Feature{Answer: confine.No}}
	}
	for name, c := range map[string]struct {
		err, before error
		want        bool
	}{
		"it starts":                          {nil, nil, false},
		"it starts with them alone":          {nil, other, false},
		"a mistake":                          {other, nil, true},
		"a mistake before":                   {other, other, false},
		"a gap after a mistake":              {gaps(fs), other, false},
		"a mistake beside what was not held": {other, gaps(fs), true},
		"a gap":                              {gaps(fs), nil, true},
		"the same gap":                       {gaps(fs), gaps(fs), false},
		"fewer gaps":                         {gaps(net), gaps(fs, net), false},
		"one gap more":                       {gaps(fs, net), gaps(fs), true},
		"a gap of another axis":              {gaps(net), gaps(fs), true},
		"a gap with other words":             {gaps(words), gaps(fs), true},
		"a raised limit":                     {gaps(eight), gaps(four), false},
		"another limit":                      {gaps(memory), gaps(four), true},
		"a port that cannot lead in":         {bare(fs, net), bare(fs), false},
		"a gap of files without namespaces":  {bare(fs, paths), bare(fs), true},
		"a gap with other paths":             {gaps(paths), gaps(fs), true},
	} {
		if got := isNew(c.err, c.before); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTrialCommand: doctor and wrap try a jail on a machine without a program "true" too.
func TestTrialCommand(t *testing.T) {
	if want, err := exec.LookPath("true"); err == nil && !slices.Equal(trialCommand(), []string{want}) {
		t.Errorf("%q, want %s", trialCommand(), want)
	}
	t.Setenv("PATH", t.TempDir())
	command := trialCommand()
	if _, err := exec.LookPath(command[0]); err != nil || len(command) != 2 {
		t.Errorf("without a PATH: %q, %v", command, err)
	}
}

// TestReports: a log gets a line at the first tick and at each fifth after it, with what is known.
func TestReports(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	testkit.Must(t, err)
	defer log.Close()
	w := waiter{console: terminal.New(nil, nil, log), name: "files", begin: time.Now()}
	for _, m := range []Message{{}, {Step: "fetching", Files: 1, Bytes: 7_000}, {Step: "fetching", Files: 12, Bytes: 2_340_000}, {Step: "scripts", Files: 12, Bytes: 2_340_000}, {Step: "sealing", Files: 12, Bytes: 2_340_000}, {Step: "waiting"}} {
		w.last = m
		for range sayEvery {
			w.report()
		}
	}
	if got, want := ReadyText("files", Message{Ready: "files 1.0.0", Bytes: 2_340_000}), "files is ready: version 1.0.0, 2.3 MB. It now starts without a network."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got, err := os.ReadFile(log.Name())
	testkit.Must(t, err)
	after := regexp.MustCompile(`\b[0-9]+ s\b`)
	want := `mcp-jail: downloading files: 0 s
mcp-jail: downloading files: 7 kB, 0 s
mcp-jail: downloading files: 2.3 MB, 0 s
mcp-jail: compiling files: 0 s (this can take several minutes)
mcp-jail: checking files: 0 s
mcp-jail: waiting for another download of files: 0 s
`
	if after.ReplaceAllString(string(got), "0 s") != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestPatience: a client is answered before it gives up, and mcp-jail itself waits as long as the user does.
func TestPatience(t *testing.T) {
	for name, want := range map[string]bool{"claude-code": true, "crush": true, "mcp-jail learn": false} {
		p := newClientPeek(nil)
		p.hear(`{"method":"initialize","params":{"clientInfo":{"name":"` + name + `"}}}`)
		p.since = time.Now().Add(-patience)
		testkit.Equal(t, name, p.impatient(), want)
	}
}
