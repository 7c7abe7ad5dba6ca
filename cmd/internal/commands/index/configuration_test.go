package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestConfigurationProblems tests which faults are found, wherever a start would read them, and
// whose starts they stop.
func TestConfigurationProblems(t *testing.T) {
	const good, bad = "[servers.s]\ncommand = \"true\"\n", "[servers.s]\ncommand = \"true\"\ncomand = 1\n"
	entry := func(args string) string {
		return `{"mcpServers": {"it": {"command": "BIN/mcp-jail", "args": [` + args + `]}}}`
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string // place, and the entries; "!" for a fault of trust
	}{
		"none":                     {nil, ""},
		"good":                     {map[string]string{"home/.config/mcp-jail/config.toml": good}, ""},
		"the user's":               {map[string]string{"home/.config/mcp-jail/config.toml": bad}, "home/.config/mcp-jail/config.toml:3"},
		"two faults":               {map[string]string{"home/.config/mcp-jail/config.toml": bad + "nett = 1\n"}, "home/.config/mcp-jail/config.toml:3\nhome/.config/mcp-jail/config.toml:4"},
		"no TOML":                  {map[string]string{"home/.config/mcp-jail/config.toml": "[servers"}, "home/.config/mcp-jail/config.toml:1"},
		"no such preset":           {map[string]string{"home/.config/mcp-jail/config.toml": good + "preset = \"gone\"\n"}, "home/.config/mcp-jail/config.toml:3"},
		"untrusted":                {map[string]string{"project/.mcp-jail.toml": good}, "!project/.mcp-jail.toml:0"},
		"untrusted and the user's": {map[string]string{"project/.mcp-jail.toml": good, "home/.config/mcp-jail/config.toml": bad}, "!project/.mcp-jail.toml:0\nhome/.config/mcp-jail/config.toml:3"},
		"--config":                 {map[string]string{"home/c.toml": bad, "home/.cursor/mcp.json": entry(`"run", "--config", "HOME/c.toml", "s"`)}, "home/c.toml:3 it"},
		"--config of two":          {map[string]string{"home/c.toml": bad, "home/.cursor/mcp.json": entry(`"run", "--config", "HOME/c.toml", "s"`), "home/.gemini/settings.json": strings.Replace(entry(`"run", "--config", "HOME/c.toml", "s"`), "it", "too", 1)}, "home/c.toml:3 it too"},
		"--config, a variable":     {map[string]string{"home/c.toml": bad, "home/.cursor/mcp.json": entry(`"run", "--config", "${userHome}/c.toml", "s"`)}, "home/c.toml:3 it"},
		"--config, good":           {map[string]string{"home/c.toml": good, "home/.cursor/mcp.json": entry(`"run", "--config", "HOME/c.toml", "s"`)}, ""},
		"--config, gone":           {map[string]string{"home/.cursor/mcp.json": entry(`"run", "--config", "HOME/gone.toml", "s"`)}, "home/gone.toml:0 it"},
		"--config, the user's too": {map[string]string{"home/c.toml": good, "home/.config/mcp-jail/config.toml": bad, "home/.cursor/mcp.json": entry(`"run", "--config", "HOME/c.toml", "s"`)}, "home/.config/mcp-jail/config.toml:3"},
		"--workspace":              {map[string]string{"home/w/.mcp-jail.toml": good, "home/.cursor/mcp.json": entry(`"run", "--workspace", "HOME/w", "s"`)}, "!home/w/.mcp-jail.toml:0 it"},
		"a command":                {map[string]string{"home/w/.mcp-jail.toml": good, "home/.cursor/mcp.json": entry(`"run", "--workspace", "HOME/w", "--", "true"`)}, ""},
		"its directory":            {map[string]string{"home/w/.mcp-jail.toml": good, "home/.gemini/settings.json": `{"mcpServers": {"it": {"command": "BIN/mcp-jail", "args": ["run", "s"], "cwd": "HOME/w"}}}`}, "!home/w/.mcp-jail.toml:0 it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plantHome(t, c.files)
			x := readAs(t, dir+"/bin/mcp-jail")
			var lines []string
			for _, p := range x.ConfigurationProblems() {
				line := strings.TrimPrefix(p.File, dir+"/") + ":" + string(rune('0'+p.Line))
				if p.Fix != "" {
					line = "!" + line
				}
				lines = append(lines, strings.TrimSpace(line+" "+strings.Join(p.Entries, " ")))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("finds\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestNamed: each axis must be named, and a word that names none is an error.
func TestNamed(t *testing.T) {
	for words, want := range map[string]string{
		"fs": "fs", "limits,fs": "fs limits", "net fs": "fs net", "fs|net , limits": "fs net limits", "fs,fs": "fs", "": "", "macos": "macos", "windows macos,fs": "fs macos windows",
		"all": "error", "FS": "error", "fs,files": "error", "fs;net": "error",
	} {
		got, err := NamedAxes(strings.Split(words, "|"))
		if want == "error" != (err != nil) || err == nil && !slices.Equal(got, policy.OrderWaivers(axesOf(want))) {
			t.Errorf("%q names %q (%v), want %q", words, got, err, want)
		}
	}
}

// TestNeed: a gap that nothing can accept is on no axis that may be waived, and two policies of one
// server need what either needs.
func TestNeed(t *testing.T) {
	fs, limits := confine.Gap{Axis: policy.AxisFs, What: "a"}, confine.Gap{Axis: policy.AxisLimits, What: "b"}
	fatal := confine.Gap{Axis: policy.AxisNet, What: "c", Fatal: true}
	refused := confine.Feature{Answer: confine.No, Detail: "refused"}
	need := GapNeed{Gaps: []confine.Gap{limits, fatal}}
	for _, both := range []GapNeed{need.add(GapNeed{Gaps: []confine.Gap{fs, limits}, Namespaces: refused}), (GapNeed{Gaps: []confine.Gap{fs, limits}, Namespaces: refused}).add(need)} {
		if got := both.Waivers(nil); !slices.Equal(got, policy.OrderWaivers([]policy.Axis{policy.AxisFs, policy.AxisLimits})) || len(both.Gaps) != 3 {
			t.Errorf("%q of %v", got, both.Gaps)
		}
		if got := both.Fatal(); got == nil || got.What != fatal.What || both.Namespaces != refused {
			t.Errorf("the fatal gap is %v, and namespaces are %v", got, both.Namespaces)
		}
	}
	if len(need.Gaps) != 2 || need.Namespaces.Answer == confine.No || (GapNeed{}).Fatal() != nil {
		t.Errorf("%v was changed", need)
	}
}

// TestWaiversOfSystems: an entry needs the word of a system for the gaps of that system, unless their axes are
// accepted or the configuration accepts them for all servers. No host takes the word out.
func TestWaiversOfSystems(t *testing.T) {
	gap := func(axis, system policy.Axis) confine.Gap {
		return confine.Gap{Axis: axis, What: string(axis), Platform: system}
	}
	mac := GapNeed{Gaps: []confine.Gap{gap("fs", "macos"), gap("limits", "macos"), gap("net", "")}}
	for _, c := range testkit.Table[struct{ has, accepted, needs, drops string }](t, "waivers.txt") {
		mac.Accepted = axesOf(c.accepted)
		needs := mac.Waivers(axesOf(c.has))
		if drops := NotNeeded(axesOf(c.has), needs); AxisNames(needs, " ") != c.needs || AxisNames(drops, " ") != c.drops {
			t.Errorf("an entry that waives %q needs %q and drops %q", c.has, needs, drops)
		}
	}
	if drops := NotNeeded(axesOf("macos windows fs"), nil); AxisNames(drops, " ") != "fs" {
		t.Errorf("Linux takes out %q", drops)
	}
}

func axesOf(words string) (axes []policy.Axis) {
	for _, word := range strings.Fields(words) {
		axes = append(axes, policy.Axis(word))
	}
	return axes
}

// TestOfLauncher tests which paths are in a launcher's cache.
func TestOfLauncher(t *testing.T) {
	for path, want := range testkit.Named[bool](t, "programs.txt") {
		if got := InLauncherCache(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestIsBuild: a program in the bin directory of a clone is a build of it.
func TestIsBuild(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bin", "mcp-jail")
	testkit.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
	if isBuild(path) {
		t.Error("without sources")
	}
	testkit.WriteFile(t, filepath.Join(dir, "go.mod"), "module x\n")
	if !isBuild(path) {
		t.Error("beside sources")
	}
}
