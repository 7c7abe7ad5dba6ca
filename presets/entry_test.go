package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// print encodes what came of an entry; the result must be a valid configuration.
func printApplied(t testing.TB, a applied) string {
	t.Helper()
	s := *a.Server
	s.Command = "server"
	c := &config.Config{Servers: map[string]*config.Server{s.Name: &s}}
	text := string(c.Encode())
	if _, err := config.Decode([]byte(text), "x"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, o := range a.Open {
		text += "open " + o.String() + "\n"
	}
	return text + fmt.Sprintln("unknown", a.Unknown)
}

func TestFor(t *testing.T) {
	for _, c := range []struct {
		preset      string
		env         map[string]string
		args        []string
		want, never []string
	}{
		{"github-archived", map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_v", "OTHER": "x"}, nil,
			[]string{`env = "GITHUB_PERSONAL_ACCESS_TOKEN"`, "unknown [OTHER]"}, []string{"variables", "ghp_v"}},
		// A secret that is optional comes with the entry that has it.
		{"context7", nil, nil, []string{`host = "context7.com"`}, []string{"secret"}},
		{"context7", map[string]string{"CONTEXT7_API_KEY": "v"}, nil, []string{`env = "CONTEXT7_API_KEY"`}, []string{"variables"}},
		// One required secret in place of another.
		{"figma", map[string]string{"FIGMA_OAUTH_TOKEN": "v"}, nil, []string{"FIGMA_OAUTH_TOKEN"}, []string{"FIGMA_API_KEY"}},
		{"supabase", nil, []string{"--access-token=v"}, []string{"api.supabase.com"}, []string{"SUPABASE_ACCESS_TOKEN"}},
		// The entry's own host takes the place of the preset's, with the secret.
		{"gitlab", map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "v", "GITLAB_API_URL": "https://git.corp.example:8443/api/v4"}, nil,
			[]string{`host = "git.corp.example"`, "port = 8443", `env = "GITLAB_PERSONAL_ACCESS_TOKEN"`, `variables = ["GITLAB_API_URL"]`}, []string{"gitlab.com"}},
		{"gitlab", map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "v", "GITLAB_API_URL": "https://gitlab.com/api/v4"}, nil,
			[]string{`host = "gitlab.com"`, `env = "GITLAB_PERSONAL_ACCESS_TOKEN"`}, nil},
		{"github", map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "v", "GITHUB_HOST": "https://octo.ghe.com"}, nil,
			[]string{`host = "octo.ghe.com"`, `host = "api.octo.ghe.com"`, `host = "uploads.octo.ghe.com"`, `host = "raw.octo.ghe.com"`}, []string{"api.github.com"}},
		{"github", map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "v"}, []string{"stdio", "--gh-host=https://10.1.2.3"}, []string{`host = "10.1.2.3"`}, []string{"api."}},
		// Without TLS the value cannot be put in: it is forwarded.
		{"grafana", map[string]string{"GRAFANA_URL": "http://localhost:3000", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "v"}, nil,
			[]string{`host = "localhost"`, `scheme = "http"`, "port = 3000", `"GRAFANA_SERVICE_ACCOUNT_TOKEN"`}, []string{"secret"}},
		{"grafana", map[string]string{"GRAFANA_URL": "https://me.grafana.net", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "v"}, nil,
			[]string{`host = "me.grafana.net"`, `env = "GRAFANA_SERVICE_ACCOUNT_TOKEN"`}, nil},
		{"grafana", map[string]string{"GRAFANA_URL": "${input:url}", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "v"}, nil,
			[]string{"open GRAFANA_URL: its value is filled in later", `"GRAFANA_SERVICE_ACCOUNT_TOKEN"`}, []string{"host ="}},
		{"atlassian", map[string]string{"JIRA_URL": "https://a.atlassian.net", "JIRA_API_TOKEN": "v", "CONFLUENCE_API_TOKEN": "w"}, []string{"--confluence-url", "https://c.example/wiki"},
			[]string{`host = "a.atlassian.net"`, `env = "JIRA_API_TOKEN"`, `host = "c.example"`, `env = "CONFLUENCE_API_TOKEN"`}, nil},
		// A server that looks at the form of the secret.
		{"stripe", map[string]string{"STRIPE_SECRET_KEY": "rk_v"}, nil, []string{`variables = ["STRIPE_SECRET_KEY"]`}, []string{"secret =", "rk_v"}},
		{"notion", map[string]string{"OPENAPI_MCP_HEADERS": "{}"}, nil, []string{`"OPENAPI_MCP_HEADERS"`}, []string{"NOTION_TOKEN", "secret ="}},
		// Databases.
		{"postgres", nil, []string{"postgresql://u:p@ss@db.example/x?sslmode=require"}, []string{`host = "db.example"`, `scheme = "tcp"`, "port = 5432"}, []string{"p@ss", "ss@"}},
		{"mongodb", map[string]string{"MDB_MCP_CONNECTION_STRING": "mongodb://u:p@a.example:1,b.example:2/x"}, []string{"--readOnly"},
			[]string{`host = "a.example"`, "port = 1", `host = "b.example"`, "port = 2"}, []string{"u:p"}},
		{"mongodb", map[string]string{"MDB_MCP_CONNECTION_STRING": "mongodb+srv://u:p@c.mongodb.net"}, nil, []string{"open MDB_MCP_CONNECTION_STRING: the hosts of mongodb+srv://"}, []string{"u:p"}},
		{"mysql", map[string]string{"MYSQL_HOST": "127.0.0.1", "MYSQL_PORT": "3307", "MYSQL_PASS": "v"}, nil, []string{`host = "127.0.0.1"`, "port = 3307", `"MYSQL_PASS"`}, nil},
		{"mysql", map[string]string{"MYSQL_HOST": "db", "MYSQL_PORT": "x"}, nil, []string{"open MYSQL_PORT", "port = 3306"}, nil},
		{"redis", nil, []string{"--url", "rediss://u:p@[2001:db8::1]:6380/0"}, []string{`host = "2001:db8::1"`, "port = 6380"}, nil},
		{"dbhub", nil, []string{"--dsn", "sqlite:///x.db"}, []string{"open --dsn: the hosts of sqlite://"}, nil},
		// Paths.
		{"filesystem", nil, []string{"/home/me/a", "docs"}, []string{`path = "/home/me/a"`, `path = "docs"`, "write = true"}, []string{"execute"}},
		{"filesystem", nil, []string{"${workspaceFolder}", "*"}, []string{"open rest"}, []string{"path ="}},
		{"filesystem", nil, nil, []string{`workspace = "write"`}, []string{"access.fs"}},
		{"memory", map[string]string{"MEMORY_FILE_PATH": "~/m.json"}, nil, []string{`open MEMORY_FILE_PATH: "~/m.json": ~ is not replaced in a variable`}, []string{"path "}},
		{"memory", map[string]string{"MEMORY_FILE_PATH": "~"}, nil, []string{`open MEMORY_FILE_PATH: "~": ~ is not replaced in a variable`}, []string{"path "}},
		{"memory", map[string]string{"MEMORY_FILE_PATH": "~/x/m.json"}, nil, []string{`open MEMORY_FILE_PATH: "~/x/m.json": ~ is not replaced in a variable`}, []string{"path "}},
		{"memory", map[string]string{"MEMORY_FILE_PATH": "$HOME/x/m.json"}, nil, []string{`open MEMORY_FILE_PATH: "$HOME/x/m.json": variables are not replaced; write the whole path`}, []string{"path ="}},
		{"obsidian", nil, []string{"/home/me/vault"}, []string{`path = "/home/me/vault"`, "read = true"}, []string{"create = true", "write = true"}},
		{"sqlite", nil, []string{"--db-path", "data/x.db"}, []string{`path = "data"`}, []string{"x.db"}},
		{"playwright", nil, []string{"--headless", "--output-dir=shots", "--unknown", "x"}, []string{`path = "shots"`}, nil},
		// What is missing at the end of a line is not made up.
		{"git", nil, []string{"--repository"}, []string{`workspace = "write"`}, []string{"access.fs"}},
		{"mcp-remote", map[string]string{"AUTH_TOKEN": "v"}, []string{"https://mcp.example/sse", "9696", "--header", "Authorization: Bearer ${AUTH_TOKEN}"},
			[]string{`host = "mcp.example"`, `env = "AUTH_TOKEN"`}, nil},
	} {
		p := testkit.Get(Find(c.preset))(t)
		before := printApplied(t, applied{Server: p.Server})
		got := printApplied(t, p.For(Entry{Env: c.env, Args: c.args}))
		for _, want := range c.want {
			testkit.Contains(t, fmt.Sprintf("%s %v %v", c.preset, c.env, c.args), got, want)
		}
		for _, never := range c.never {
			if strings.Contains(got, never) {
				t.Errorf("%s %v %v: %q in\n%s", c.preset, c.env, c.args, never, got)
			}
		}
		if after := printApplied(t, applied{Server: p.Server}); after != before {
			t.Errorf("%s: For changed the preset", c.preset)
		}
	}
}

func TestSecrets(t *testing.T) {
	p := testkit.Get(Find("supabase"))(t)
	got := p.Secrets(Entry{Args: []string{"--read-only", "--access-token", "sbp_v", "--project-ref=x"}})
	testkit.Equal(t, "", fmt.Sprint(got), "map[--access-token:SUPABASE_ACCESS_TOKEN]")
}

// FuzzFor tests that For returns a valid server for each entry. The server contains no value
// of a variable that the preset knows as a secret only.
func FuzzFor(f *testing.F) {
	for i := range Names() {
		f.Add(i, "https://u:p@h.example:1/x", "--url=redis://h", "/a")
		f.Add(i, "${X}", "--db-path", "mongodb://a,b:2")
	}
	f.Fuzz(func(t *testing.T, i int, value, first, second string) {
		names := Names()
		p := testkit.Get(Find(names[uint(i)%uint(len(names))]))(t)
		e := Entry{Env: map[string]string{}, Args: []string{first, second}}
		for _, v := range p.Variables {
			e.Env[v.Name] = value
			if v.Secret && v.Kind == plainText {
				e.Env[v.Name] = "the-secret-value"
			}
		}
		if text := printApplied(t, p.For(e)); strings.Contains(text, "the-secret-value") && !strings.Contains(value+first+second, "secret") {
			t.Fatal(text)
		}
	})
}
