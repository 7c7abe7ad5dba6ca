//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/presets"
)

// presetServer is a real server that a test starts in a jail under its preset. In env, args and
// file WORK is the workspace, {token} the token, {authority} the file of the authority to trust,
// {authority64} its content as a kubeconfig file has it, {file} the path of the file, and
// {kubectl} the directory of a program that stands in for kubectl. mcp-jail grants the hosts and
// files that these name, as the preset says.
type presetServer struct {
	preset, npm string
	native      string   // the package of testdata/presets/native: npm itself, or the one with the program that npm's only starts
	secret      string   // the variable with the token; "" if there is none
	env         []string // further variables
	args        []string // of the server
	file        string   // the content of a file outside of the workspace
	grants      []string // flags of mcp-jail that the preset's notes ask for
	tool        string   // a harmless tool; "" if none works without more than an API
	arguments   map[string]any
	told        string   // a request that the tool makes of the API or database, with " token" if it has the token
	says        string   // a part of what the tool then says
	hosts       []string // further names of the stand-in
	works       bool     // the tool succeeds: it needs no API
	holds       bool     // the server itself has the token, as its preset says
	direct      bool     // the connection is encrypted by the server itself, a program of node, which has to trust the stand-in
}

// googleKeys are the keys of a program of Google's, with the tokens of its login beside them.
const googleKeys = `{"installed":{"client_id":"c","client_secret":"s","redirect_uris":["http://localhost:3000/oauth2callback"]},"access_token":"{token}","refresh_token":"r","expiry_date":4102444800000}`

// presetServers are the servers of testdata/presets. Its package pg is a driver for dbhub, which
// has its drivers as optional packages.
var presetServers = []presetServer{
	{preset: "airtable", npm: "airtable-mcp-server", secret: "AIRTABLE_API_KEY", tool: "list_bases", told: "GET https://api.airtable.com/v0/meta/bases token"},
	// Without a login Azure's tools do nothing. This one asks the login host for a token, with the
	// secret of a service principal, and then says that the login failed. The program is .NET's,
	// which trusts SSL_CERT_FILE alone.
	{preset: "azure", npm: "@azure/mcp", native: "@azure/mcp", secret: "AZURE_CLIENT_SECRET", env: []string{"AZURE_TENANT_ID=11111111-1111-1111-1111-111111111111", "AZURE_CLIENT_ID=22222222-2222-2222-2222-222222222222", "AZURE_MCP_COLLECT_TELEMETRY=false"}, args: []string{"server", "start"}, grants: []string{"--env", "SSL_CERT_FILE", "--read", "{authority}"}, tool: "subscription_list", told: "POST https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/oauth2/v2.0/token token", says: "ClientSecretCredential authentication failed", holds: true},
	{preset: "brave-search", npm: "@brave/brave-search-mcp-server", secret: "BRAVE_API_KEY", tool: "brave_web_search", arguments: map[string]any{"query": "x"}, told: "GET https://api.search.brave.com/res/v1/web/search token"},
	{preset: "brave-search", npm: "@modelcontextprotocol/server-brave-search", secret: "BRAVE_API_KEY", tool: "brave_web_search", arguments: map[string]any{"query": "x"}, told: "GET https://api.search.brave.com/res/v1/web/search token"},
	{preset: "chrome-devtools", npm: "chrome-devtools-mcp"},
	{preset: "context7", npm: "@upstash/context7-mcp", secret: "CONTEXT7_API_KEY", tool: "resolve-library-id", arguments: map[string]any{"query": "x", "libraryName": "x"}, told: "GET https://context7.com/api/v2/libs/search token"},
	{preset: "dbhub", npm: "@bytebase/dbhub", env: []string{"DSN=postgres://me:{token}@db.example/notes?sslmode=disable"}, tool: "execute_sql", arguments: map[string]any{"sql": "select 42"}, told: "select 42 postgres://db.example token", holds: true},
	{preset: "desktop-commander", npm: "@wonderwhy-er/desktop-commander", tool: "list_directory", arguments: map[string]any{"path": "WORK"}, works: true},
	{preset: "exa", npm: "exa-mcp-server", secret: "EXA_API_KEY", tool: "web_search_exa", arguments: map[string]any{"query": "x"}, told: "POST https://api.exa.ai/search token"},
	{preset: "figma", npm: "figma-developer-mcp", secret: "FIGMA_API_KEY", args: []string{"--stdio"}, tool: "get_figma_data", arguments: map[string]any{"fileKey": "x"}, told: "GET https://api.figma.com/v1/files/x token"},
	{preset: "firecrawl", npm: "firecrawl-mcp", secret: "FIRECRAWL_API_KEY", tool: "firecrawl_map", arguments: map[string]any{"url": "https://example.com"}, told: "POST https://api.firecrawl.dev/v2/map token"},
	{preset: "gcloud", npm: "@google-cloud/gcloud-mcp", grants: []string{"--execute", "{gcloud}"}},
	{preset: "gmail", npm: "@gongrzhe/server-gmail-autoauth-mcp", file: googleKeys, env: []string{"GMAIL_OAUTH_PATH={file}", "GMAIL_CREDENTIALS_PATH={file}"}, tool: "list_email_labels", told: "GET https://gmail.googleapis.com/gmail/v1/users/me/labels token", holds: true, direct: true},
	{preset: "google-calendar", npm: "@cocal/google-calendar-mcp", file: googleKeys, env: []string{"GOOGLE_OAUTH_CREDENTIALS={file}"}},
	{preset: "gitlab", npm: "@zereight/mcp-gitlab", secret: "GITLAB_PERSONAL_ACCESS_TOKEN", tool: "search_repositories", arguments: map[string]any{"search": "x"}, told: "GET https://gitlab.com/api/v4/projects token"},
	{preset: "gitlab", npm: "@modelcontextprotocol/server-gitlab", secret: "GITLAB_PERSONAL_ACCESS_TOKEN", tool: "search_repositories", arguments: map[string]any{"search": "x"}, told: "GET https://gitlab.com/api/v4/projects token"},
	{preset: "google-drive", npm: "@modelcontextprotocol/server-gdrive", file: `{"access_token":"{token}","expiry_date":4102444800000}`, env: []string{"GDRIVE_CREDENTIALS_PATH={file}"}, tool: "search", arguments: map[string]any{"query": "x"}, told: "GET https://www.googleapis.com/drive/v3/files token", says: "Found 0 files", holds: true},
	{preset: "google-maps", npm: "@modelcontextprotocol/server-google-maps", secret: "GOOGLE_MAPS_API_KEY", tool: "maps_geocode", arguments: map[string]any{"address": "x"}, told: "GET https://maps.googleapis.com/maps/api/geocode/json token", holds: true},
	// The server calls kubectl for nearly every tool. Here that is a program of the test, which
	// asks the cluster as the real one does. It is granted, as a kubectl outside of the system's
	// directories is.
	{preset: "kubernetes", npm: "mcp-server-kubernetes", file: kubeconfig, env: []string{"KUBECONFIG_PATH={file}"}, grants: []string{"--net", clusterHost, "--execute", "{kubectl}"}, tool: "kubectl_get", arguments: map[string]any{"resourceType": "namespaces"}, told: "GET https://" + clusterHost + "/api/v1/namespaces token", says: "notes", holds: true},
	{preset: "kubernetes-native", npm: "kubernetes-mcp-server", native: "kubernetes-mcp-server-linux-amd64", file: kubeconfig, args: []string{"--kubeconfig", "{file}", "--list-output", "yaml"}, grants: []string{"--net", clusterHost}, tool: "namespaces_list", told: "GET https://" + clusterHost + "/api/v1/namespaces token", says: "notes", holds: true},
	{preset: "linear", npm: "@tacticlaunch/mcp-linear", secret: "LINEAR_API_TOKEN", tool: "linear_getViewer", told: "POST https://api.linear.app/graphql token"},
	{preset: "mcp-remote", npm: "mcp-remote", args: []string{"https://remote.example/mcp"}, tool: "remote", told: "POST https://remote.example/mcp", direct: true},
	{preset: "mongodb", npm: "mongodb-mcp-server"},
	{preset: "mysql", npm: "@benborla29/mcp-server-mysql", secret: "MYSQL_PASS", env: []string{"MYSQL_HOST=" + databaseHost, "MYSQL_DB=notes"}, tool: "mysql_query", arguments: map[string]any{"sql": "select 42"}, told: "select 42 mysql://db.example token", holds: true},
	{preset: "notion", npm: "@notionhq/notion-mcp-server", secret: "NOTION_TOKEN", tool: "API-get-self", told: "GET https://api.notion.com/v1/users/me token"},
	{preset: "obsidian", npm: "mcp-obsidian", args: []string{"WORK"}, tool: "search_notes", arguments: map[string]any{"query": "note"}, works: true},
	{preset: "perplexity", npm: "@perplexity-ai/mcp-server", secret: "PERPLEXITY_API_KEY", tool: "perplexity_search", arguments: map[string]any{"query": "x"}, told: "POST https://api.perplexity.ai/search token"},
	{preset: "perplexity", npm: "server-perplexity-ask", secret: "PERPLEXITY_API_KEY", tool: "perplexity_ask", arguments: map[string]any{"messages": []any{map[string]any{"role": "user", "content": "x"}}}, told: "POST https://api.perplexity.ai/chat/completions token"},
	{preset: "playwright", npm: "@playwright/mcp"},
	{preset: "puppeteer", npm: "@modelcontextprotocol/server-puppeteer"},
	{preset: "puppeteer-mcp-server", npm: "puppeteer-mcp-server"},
	{preset: "redis-archived", npm: "@modelcontextprotocol/server-redis", args: []string{"redis://:{token}@db.example:6379"}, tool: "list", arguments: map[string]any{"pattern": "note*"}, told: "KEYS note* redis://db.example token", holds: true},
	{preset: "sentry", npm: "@sentry/mcp-server", secret: "SENTRY_ACCESS_TOKEN", tool: "whoami", told: "GET https://sentry.io/api/0/auth/ token"},
	{preset: "slack", npm: "@modelcontextprotocol/server-slack", secret: "SLACK_BOT_TOKEN", env: []string{"SLACK_TEAM_ID=T1"}, tool: "slack_get_users", told: "GET https://slack.com/api/users.list token"},
	{preset: "slack", npm: "@zencoderai/slack-mcp-server", secret: "SLACK_BOT_TOKEN", env: []string{"SLACK_TEAM_ID=T1"}, tool: "slack_get_users", told: "GET https://slack.com/api/users.list token"},
	{preset: "slack-user", npm: "slack-mcp-server", native: "slack-mcp-server-linux-amd64", env: []string{"SLACK_MCP_XOXP_TOKEN=xoxp-{token}", "SLACK_MCP_SERVER_CA={authority}"}, tool: "conversations_search_messages", arguments: map[string]any{"search_query": "x"}, told: "POST https://team.slack.com/api/search.all token", hosts: []string{"slack.com"}, holds: true},
	{preset: "stripe", npm: "@stripe/mcp", secret: "STRIPE_SECRET_KEY", tool: "remote", told: "POST https://mcp.stripe.com/ token", holds: true, direct: true},
	{preset: "supabase", npm: "@supabase/mcp-server-supabase", secret: "SUPABASE_ACCESS_TOKEN", hosts: []string{"supabase.com"}, tool: "list_projects", told: "GET https://api.supabase.com/v1/projects token"},
	{preset: "tavily", npm: "tavily-mcp", secret: "TAVILY_API_KEY", tool: "tavily_search", arguments: map[string]any{"query": "x"}, told: "POST https://api.tavily.com/search token"},
}

// TestPresetsAreTried tests that no preset with a package of npm was forgotten. Packages of PyPI
// are not counted: the machines that run the tests may reach npm only.
func TestPresetsAreTried(t *testing.T) {
	need(t, "npm")
	var tried []string
	for _, c := range presetServers {
		tried = append(tried, c.npm)
	}
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		must(t, err)
		for _, pkg := range p.Packages {
			_, inNPM := os.Lstat(module(filepath.FromSlash(pkg.Name)))
			if pkg.Ecosystem == presets.NPM && inNPM != nil && !slices.Contains(tried, pkg.Name) {
				t.Errorf("no test starts %s under the preset %s", pkg.Name, name)
			}
		}
	}
}

// TestPresetServers starts real servers in jails under their presets. Each must list its
// tools, some of read_only among them, and to deny of none of these that it only reads. A
// harmless tool reaches the API or database, which a local host stands in for, with the token.
// The jail does not have the token, unless the preset says so.
func TestPresetServers(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "node", "presets")
	t.Parallel()
	for _, c := range presetServers {
		t.Run(c.preset+" "+filepath.Base(c.npm), func(t *testing.T) {
			t.Parallel()
			testPresetServer(t, c)
		})
	}
}

func testPresetServer(t *testing.T, c presetServer) {
	p, err := presets.Find(c.preset)
	must(t, err)
	w, token := newWorld(t), newToken()
	if c.preset == "stripe" {
		token = "sk_test_" + token // it looks at the form
	}
	w.plant(t, w.work, map[string]string{"note.md": "a note"})
	net := newHosts(t, w, token, append(hostsOf(c.told), c.hosts...))
	fill := strings.NewReplacer("WORK", w.work, "{token}", token, "{authority}", net.authority(), "{authority64}", net.encodedAuthority(t), "{file}", filepath.Join(w.base, "file.json"), "{kubectl}", plantKubectl(t, w), "{gcloud}", filepath.Join(w.home, "sdk")).Replace
	if c.preset == "gcloud" { // its tools need an account; the server only looks whether there is a gcloud
		w.plant(t, w.home, map[string]string{"sdk/gcloud": "#!/bin/sh\necho '{}'\n"})
		must(t, os.Chmod(filepath.Join(w.home, "sdk", "gcloud"), 0o755))
		w.env[0] = "PATH=" + filepath.Join(w.home, "sdk") + ":" + userPath()
	}
	if c.file != "" {
		must(t, os.WriteFile(filepath.Join(w.base, "file.json"), []byte(fill(c.file)), 0o600))
	}
	for _, v := range c.env {
		name, value, _ := strings.Cut(v, "=")
		w.env = append(w.env, name+"="+fill(value))
	}
	if c.secret != "" {
		w.env = append(w.env, c.secret+"="+token)
	}
	words := []string{"--preset", c.preset}
	if c.direct {
		w.env = append(w.env, "NODE_EXTRA_CA_CERTS="+net.authority())
		words = append(words, "--env", "NODE_EXTRA_CA_CERTS", "--read", net.authority())
	}
	for _, a := range slices.Concat(c.grants, []string{"--"}, c.command(t), c.args) {
		words = append(words, fill(a))
	}
	s := open(t, w.jail(w.declared(t, words...)...), nil)
	defer s.close()
	checkVersion(t, c, p)
	compareReadOnly(t, p, s.result("tools/list", nil))
	if c.tool == "" {
		return
	}
	arguments := map[string]any{}
	for name, value := range c.arguments {
		if value == "WORK" {
			value = w.work
		}
		arguments[name] = value
	}
	got := s.tool(c.tool, arguments)
	if c.works {
		if got.IsError || !strings.Contains(got.texts(), "note.md") {
			t.Errorf("%s: %s", c.tool, got.raw)
		}
		return
	}
	if told := strings.Split(net.requests(t), "\n"); !slices.Contains(told, c.told) {
		t.Errorf("the API was told %q, want %q\n%s", told, c.told, got.raw)
	}
	if !strings.Contains(got.texts(), c.says) {
		t.Errorf("%s does not say %q: %s", c.tool, c.says, got.raw)
	}
	if n := countInJail(t, w, token); (n > 0) != c.holds {
		t.Errorf("the token is %d times in the memory of the jail", n)
	}
}

// checkVersion tests that the preset names the version of the package as one that it fits.
func checkVersion(t *testing.T, c presetServer, p *presets.Preset) {
	t.Helper()
	var m struct{ Version string }
	must(t, json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(c.module(t), "package.json"))), &m))
	for _, pkg := range p.Packages {
		if pkg.Name == c.npm && pkg.Ecosystem == presets.NPM && !slices.Contains(pkg.Versions, m.Version) {
			t.Errorf("%s is %s, and the preset was seen to fit %v: see whether it still does, and add the version", c.npm, m.Version, pkg.Versions)
		}
	}
}

// module returns the directory of the installed package that has the program.
func (c presetServer) module(t *testing.T) string {
	t.Helper()
	if c.native == "" {
		return filepath.Join(os.Getenv("MCPJAIL_PRESETS"), "node_modules", filepath.FromSlash(c.npm))
	}
	if runtime.GOARCH != "amd64" {
		testkit.Skip(t, "amd64", "%s is for no other processor", c.native)
	}
	return filepath.Join(os.Getenv("MCPJAIL_PRESETS_NATIVE"), "node_modules", c.native)
}

// hostsOf returns the host of a request as presetServer.told has it.
func hostsOf(told string) []string {
	_, rest, found := strings.Cut(told, "://")
	if !found {
		return nil
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, " ")
	host, _, _ = strings.Cut(host, ":")
	return []string{host}
}

// command returns the command that starts the installed program.
func (c presetServer) command(t *testing.T) []string {
	t.Helper()
	dir := c.module(t)
	if c.native != "" && c.native != c.npm {
		return []string{filepath.Join(dir, "bin", c.native)}
	}
	var m struct{ Bin any }
	must(t, json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(dir, "package.json"))), &m))
	switch bin := m.Bin.(type) {
	case string:
		return []string{"node", filepath.Join(dir, bin)}
	case map[string]any:
		file, _ := bin[filepath.Base(c.npm)].(string)
		for _, other := range bin {
			if file == "" {
				file, _ = other.(string)
			}
		}
		return []string{"node", filepath.Join(dir, file)}
	}
	t.Fatalf("%s has no program: %v", c.npm, m.Bin)
	return nil
}

// compareReadOnly compares what a server says of its tools with what its preset does. A preset
// may name tools of other versions, and need not believe each that says it only reads.
func compareReadOnly(t *testing.T, p *presets.Preset, list json.RawMessage) {
	t.Helper()
	var r struct {
		Tools []struct {
			Name        string
			Annotations struct{ ReadOnlyHint *bool }
		}
	}
	must(t, json.Unmarshal(list, &r))
	if len(r.Tools) == 0 {
		t.Errorf("no tool is listed: %s", list)
	}
	listed := 0
	for _, tool := range r.Tools {
		if slices.Contains(p.ReadOnly, tool.Name) {
			listed++
		}
		if hint := tool.Annotations.ReadOnlyHint; hint != nil && !*hint && slices.Contains(p.ReadOnly, tool.Name) {
			t.Errorf("%s says that it does not only read", tool.Name)
		}
	}
	if listed == 0 && len(p.ReadOnly) > 0 {
		t.Errorf("no tool of the preset's read_only is listed: %s", list)
	}
}
