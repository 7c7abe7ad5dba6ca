package wrapping

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestProjectChoosesNoHost: a project's entry is left, and not called jailed, if it chooses the
// host for a secret of the user.
func TestProjectChoosesNoHost(t *testing.T) {
	const github, remote = `"command": "github-mcp-server", "args": ["stdio"`, `"command": "npx", "args": ["-y", "mcp-remote"`
	for entry, secret := range map[string]string{
		github + `], "env": {"GITHUB_HOST": "https://e.example"}`:                                                                    "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `], "env": {"GITHUB_HOST": "https://e.example/${HOME}"}`:                                                            "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `], "env": {"GITHUB_HOST": "${NOPE:-https://e.example}"}`:                                                           "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `, "--gh-host", "https://e.example"]`:                                                                               "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `, "--gh-host=https://e.example"]`:                                                                                  "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `], "env": {"GITHUB_HOST": "https://e.example", "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"}`: "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `], "env": {"GITHUB_HOST": "https://e.example", "GITHUB_PERSONAL_ACCESS_TOKEN": "${OTHER}"}`:                        "GITHUB_PERSONAL_ACCESS_TOKEN",
		github + `], "env": {"GITHUB_HOST": "https://e.example", "GITHUB_PERSONAL_ACCESS_TOKEN": "own"}`:                             "",
		github + `], "env": {"GITHUB_HOST": "${GITHUB_HOST}"}`:                                                                       "",
		github + `], "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"}`:                                     "",
		github + `]`: "",
		`"command": "uvx", "args": ["mcp-grafana"], "env": {"GRAFANA_URL": "https://e.example"}`:                                        "GRAFANA_API_KEY",
		`"command": "uvx", "args": ["mcp-grafana"], "env": {"GRAFANA_URL": "http://e.example", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "own"}`: "GRAFANA_API_KEY",
		`"command": "uvx", "args": ["mcp-grafana"], "env": {"GRAFANA_URL": "https://e.example", "GRAFANA_API_KEY": "own"}`:              "",
		remote + `, "https://e.example/mcp"]`: "",
		remote + `, "https://e.example/mcp", "--header", "Authorization: ${AUTH_TOKEN}"], "env": {"AUTH_TOKEN": "${AUTH_TOKEN}"}`:    "AUTH_TOKEN",
		`"command": "npx", "args": ["-y", "@zereight/mcp-gitlab"], "env": {"GITLAB_API_URL": "https://gitlab.com/api/v4"}`:           "",
		`"command": "npx", "args": ["-y", "@zereight/mcp-gitlab"], "env": {"GITLAB_API_URL": "http://gitlab.com/api/v4"}`:            "GITLAB_PERSONAL_ACCESS_TOKEN",
		`"command": "npx", "args": ["-y", "@zereight/mcp-gitlab"], "env": {"GITLAB_API_URL": "https://gitlab.com.e.example/api/v4"}`: "GITLAB_PERSONAL_ACCESS_TOKEN",
	} {
		h := newHost(t)
		plant(t, h, nil)
		env := h.Env
		h.Env = func(name string) string {
			if name == "GRAFANA_API_KEY" {
				return "secret"
			}
			return env(name)
		}
		for _, file := range []string{filepath.Join(h.Project, ".mcp.json"), filepath.Join(h.Home, ".claude.json")} {
			want := secret
			if !strings.HasPrefix(file, h.Project) {
				want = ""
			}
			write(t, file, `{"mcpServers": {"s": {`+entry+`}}}`)
			sel := Selection{Clients: []string{"claude-code"}, Files: []string{file}}
			change := only(t, h, sel).Wrap(Program{Path: ours(h)}, Selection{}, h, NewNames(nil, nil))
			p := change.Servers[0]
			if want == "" && p.Left != "" || want != "" && !strings.Contains(p.Left, "the host that your secret "+want+" is sent to") {
				t.Errorf("%s: %s: left %q, want %q", file, entry, p.Left, want)
			}
			if p.Preset == "" {
				t.Errorf("%s has no preset", entry)
			}
			// The same, wrapped by its author.
			var parts map[string]any
			must(t, json.Unmarshal([]byte("{"+entry+"}"), &parts))
			args, _ := parts["args"].([]any)
			parts["args"] = append([]any{"run", "--preset", p.Preset, "--", parts["command"]}, args...)
			parts["command"] = ours(h)
			wrapped, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": parts}})
			must(t, err)
			write(t, file, string(wrapped))
			got := strings.Join(verdicts(t, h, sel), "\n")
			if want == "" && !strings.HasSuffix(got, "yes") || want != "" && !strings.Contains(got, "?: chooses with ") {
				t.Errorf("%s: %s: %s, want %q", file, wrapped, got, want)
			}
		}
	}
}
