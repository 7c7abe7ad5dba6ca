package index

import (
	"strings"
	"testing"
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
