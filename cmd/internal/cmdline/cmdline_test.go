package cmdline_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestParseRun tests which command lines of run are accepted, and as what.
func TestParseRun(t *testing.T) {
	for _, c := range []struct {
		args []string
		want cmdline.RunFlags
		err  string
	}{
		{args: nil},
		{args: []string{"github"}, want: cmdline.RunFlags{Server: "github"}},
		{args: []string{"-"}, want: cmdline.RunFlags{Server: "-"}},
		{args: []string{"--read", "a", "--read=b", "--name", "x"}, want: cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{Read: []string{"a", "b"}, Name: "x"}}},
		{args: []string{"--name=x", "--name=y"}, want: cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{Name: "y"}}},
		{args: []string{"github", "--waive", "fs", "--log-file", "x"}, want: cmdline.RunFlags{ConfigFlags: cmdline.ConfigFlags{Waive: []string{"fs"}}, LogFile: "x", Server: "github"}},
		{args: []string{"--env=A=B"}, want: cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{Env: []string{"A=B"}}}},
		{args: []string{"--name=-x"}, want: cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{Name: "-x"}}},
		{args: []string{"--read", "-"}, want: cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{Read: []string{"-"}}}},
		{args: []string{"a", "b"}, err: "unexpected argument b"},
		{args: []string{""}, err: "an argument is empty"},
		{args: []string{"--read"}, err: "the option --read needs a value"},
		{args: []string{"--read", "--write", "x"}, err: "the option --read needs a value, and --write is an option"},
		{args: []string{"--read", ""}, err: "--read has an empty value"},
		{args: []string{"--read="}, err: "--read has an empty value"},
		{args: []string{"--reed=x"}, err: `there is no option --reed. Did you mean --read?`},
		{args: []string{"-read", "x"}, err: `there is no option -read. Did you mean --read?`},
		{args: []string{"-r"}, err: "there is no option -r"},
		{args: []string{"--probe"}, err: "there is no option --probe"},
		{args: []string{"--read /a"}, err: `there is no option "--read /a": this is one word with a space in it. Write the option and its value as two words, or as --read=VALUE`},
		{args: []string{"--env A=b"}, err: `there is no option "--env A": this is one word`},
		{args: []string{"--reed /a"}, err: `there is no option --reed /a`},
	} {
		got, err := cmdline.ParseRun(append([]string{"run"}, c.args...))
		switch {
		case c.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%q: %v, want %s", c.args, err, c.err)
			}
		case err != nil || !reflect.DeepEqual(*got, c.want):
			t.Errorf("%q: %+v, %v", c.args, got, err)
		}
	}
}

// TestUnknownFlagWithoutGuess: a short flag is close to too many.
func TestUnknownFlagWithoutGuess(t *testing.T) {
	for typed, names := range map[string][]string{"-q": {"env", "net"}, "-v": {"env", "read"}, "--x y": {"env"}} {
		testkit.Equal(t, typed, cmdline.UnknownFlag(typed, names).Error(), "there is no option "+typed)
	}
}

// TestFlagValuesVerbatim tests that a value reaches its field as it was typed, in both forms.
func TestFlagValuesVerbatim(t *testing.T) {
	const typed = `"a\n" = --x`
	for _, flag := range (&cmdline.RunFlags{}).Flags() {
		if flag.Words != nil {
			continue
		}
		for _, args := range [][]string{{"--" + flag.Name, typed}, {"--" + flag.Name + "=" + typed}} {
			f := &cmdline.RunFlags{}
			if _, err := cmdline.Parse(args, f.Flags()); err != nil {
				t.Errorf("%q: %v", args, err)
				continue
			}
			for _, g := range f.Flags() {
				var values []string
				if g.Many != nil {
					values = *g.Many
				} else if *g.One != "" {
					values = []string{*g.One}
				}
				if want := g.Name == flag.Name; want != slices.Equal(values, []string{typed}) || !want && values != nil {
					t.Errorf("%q: --%s is %q", args, g.Name, values)
				}
			}
		}
	}
}

// TestIsRun tests which command lines are sessions.
func TestIsRun(t *testing.T) {
	for line, want := range map[string]bool{
		"run": true, "run x": true, "run -- npx": true, "run -- npx --help": true, "run --name x -- y": true,
		"": false, "--": false, "-- run": false, "run --help": false, "run -h -- x": false, "help run": false, "check": false, "runs": false,
	} {
		if got := cmdline.IsRun(strings.Fields(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestVersion tests that both programs of a release have its version and commit, and that those
// of a plain build have neither.
func TestVersion(t *testing.T) {
	testkit.NeedsLong(t)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	testkit.Must(t, err)
	const variables = "github.com/mcp-jail/mcp-jail/cmd/internal/cmdline."
	for _, c := range []struct{ flags, version, commit string }{
		{"-X " + variables + "release=1.2.3-test -X " + variables + "releaseCommit=0123abc", "1.2.3-test", "0123abc"},
		{"-s", "development", "unknown"},
	} {
		dir := t.TempDir()
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", c.flags, "-o", dir+"/", "./cmd/mcp-jail", "./cmd/mcp-jail-cli")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		out, err := exec.Command(filepath.Join(dir, cmdline.Main), "version", "--format", "json").Output()
		testkit.Must(t, err)
		var said struct{ Version, Commit, Go string }
		testkit.Must(t, json.Unmarshal(out, &said))
		if said.Version != c.version || said.Commit != c.commit || !strings.HasPrefix(said.Go, "go1.") {
			t.Errorf("with %q it says %s", c.flags, out)
		}
	}
}

// TestParseWaivers tests that each waiver is named by its own word, and that no word names several.
func TestParseWaivers(t *testing.T) {
	got, err := cmdline.ParseWaivers("--waive", []string{"macos", "fs", "macos"})
	if want := []policy.Axis{policy.WaiveMacOS, policy.AxisFs, policy.WaiveMacOS}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := cmdline.ParseWaivers("--waive", cmdline.Waivers()); err != nil || !slices.Equal(got, policy.Waivers()) {
		t.Errorf("%q, %v", got, err)
	}
	for _, word := range []string{"", "all", "*", "FS", "fs,net", " fs", "linux"} {
		if got, err := cmdline.ParseWaivers("--waive", []string{"fs", word}); err == nil || got != nil {
			t.Errorf("%q names %q", word, got)
		}
	}
}
