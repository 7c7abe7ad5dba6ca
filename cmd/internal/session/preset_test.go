package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestServerWords tests which words of a command line a server gets. There are none if the line
// starts a wrapper, or has the text of a script.
func TestServerWords(t *testing.T) {
	for line, want := range testkit.Named[string](t, "presets.txt") {
		words, set := serverWords(strings.Fields(line))
		for _, a := range set {
			words = append(words, a.Name)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// fit returns the words for what a fitted preset grants, and its warnings.
func fit(t *testing.T, s *config.Server, declared []string, env ...string) string {
	t.Helper()
	f, err := fitPreset(s, declared, hostfs.Host{Environ: env})
	testkit.Must(t, err)
	var words []string
	for _, r := range f.Server.Variables {
		words = append(words, "variable "+r.Name)
	}
	if a := f.Server.Access; a != nil {
		for _, r := range a.Fs {
			words = append(words, fmt.Sprintf("%s (%s)", r.Path, r.Rights()))
		}
		for _, r := range a.Net {
			words = append(words, r.Host+fmt.Sprint(r.SecretNames()))
		}
	}
	return strings.Join(words, "; ") + " " + strings.Join(WarningTexts(f.Warnings), "; ")
}

// TestFitPreset tests that a preset knows the arguments of the line and those variables of the
// host that it names, that no value but a host or path shows, and which decisions are left to the
// user.
func TestFitPreset(t *testing.T) {
	const token = "GITHUB_PERSONAL_ACCESS_TOKEN=ghp_secret"
	github := &config.Server{Preset: "github", Command: "github-mcp-server", Arguments: []string{"stdio"}, PresetWhere: "c.toml:3"}
	const usual = "api.github.com[GITHUB_PERSONAL_ACCESS_TOKEN]; uploads.github.com[GITHUB_PERSONAL_ACCESS_TOKEN]; raw.githubusercontent.com[GITHUB_PERSONAL_ACCESS_TOKEN] "
	if got := fit(t, github, nil, token, "OTHER=https://x.test", "GITHUB_HOST="); got != usual {
		t.Errorf("%s", got)
	}
	got := fit(t, github, nil, token, "GITHUB_HOST=https://ghe.test")
	if !strings.HasPrefix(got, "variable GITHUB_HOST; ghe.test[GITHUB_PERSONAL") || strings.Contains(got, "github.com") || strings.Contains(got, "ghp_") {
		t.Errorf("a host of a variable: %s", got)
	}
	line := &config.Server{Preset: "github", Command: "env", Arguments: []string{"GITHUB_HOST=https://line.test", "npx", "-y", "pkg"}}
	if got := fit(t, line, nil, "GITHUB_HOST=https://ghe.test"); !strings.Contains(got, "line.test") || strings.Contains(got, "ghe.test") {
		t.Errorf("a host of the line: %s", got)
	}
	if got := fit(t, github, nil, "GITHUB_HOST=ftp://x"); !strings.Contains(got, "c.toml:3: preset github: GITHUB_HOST: its URL begins with ftp://") {
		t.Errorf("a host that cannot be read: %s", got)
	}
	files := &config.Server{Preset: "filesystem", Command: "npx", Arguments: []string{"-y", "@modelcontextprotocol/server-filesystem", "/data", "$HOME/x"}}
	if got := fit(t, files, nil); !strings.HasPrefix(got, "/data (read write) preset filesystem: an argument: \"$HOME/x\": variables are not replaced") {
		t.Errorf("directories: %s", got)
	}
	f, _ := fitPreset(files, nil, hostfs.Host{})
	if r := f.Server.Access.Fs[0]; r.Where != "preset filesystem: an argument" {
		t.Errorf("the place of a rule is %q", r.Where)
	}
	for name, want := range map[string]string{"githb": `did you mean "github"?`, "zzzzzz": "`mcp-jail preset` lists them", "../github": "there is no preset"} {
		if _, err := fitPreset(&config.Server{Preset: name}, nil, hostfs.Host{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFitPresetStateless tests which tools of a stateless server have the rules, and that a
// warning names calls which may depend on one another.
func TestFitPresetStateless(t *testing.T) {
	no := false
	s := &config.Server{Preset: "github-archived", Command: "x", Stateful: &no}
	f, err := fitPreset(s, []string{"create_issue"}, hostfs.Host{})
	if err != nil || f.Server.Access != nil || len(f.Warnings) != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	for tool, want := range map[string]bool{"list_commits": true, "create_issue": true, "push_files": false} {
		if (f.Server.Tools[tool] != nil) != want {
			t.Errorf("%s has a table: %t", tool, !want)
		}
	}
	s.Preset = "memory"
	if got := fit(t, s, nil); !strings.Contains(got, "its calls may depend on one another") {
		t.Error(got)
	}
	s.Stateful = nil
	if got := fit(t, s, nil); strings.Contains(got, "depend") {
		t.Error(got)
	}
}

// TestLoadConfig tests that the presets of all servers count, also for the paths that other
// servers may write, and that the error about unknown presets has their places.
func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	testkit.WriteFile(t, "c.toml", "[servers.a]\npreset = \"memory\"\ncommand = \"x\"\n[servers.b]\ncommand = \"npx\"\narguments = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/shared\"]\npreset = \"filesystem\"\n")
	cfg, err := LoadConfig(config.LoadOptions{Files: []string{"c.toml"}}, hostfs.Host{})
	testkit.Must(t, err)
	p, err := cfg.Policy("a", "")
	if err != nil || p.Default || len(p.Fs) != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if !slices.ContainsFunc(p.Others[0].Fs, func(r policy.FsRule) bool { return r.Path == "/shared" && r.Update }) {
		t.Errorf("what the other server may write: %+v", p.Others[0])
	}
	testkit.WriteFile(t, "c.toml", "[servers.a]\ncommand = \"x\"\npreset = \"memry\"\n[servers.b]\npreset = \"nothing\"\ncommand = \"x\"\n")
	_, err = LoadConfig(config.LoadOptions{Files: []string{"c.toml"}}, hostfs.Host{})
	want := "c.toml:3: servers.a.preset: there is no preset \"memry\"; did you mean \"memory\"?\nc.toml:5: servers.b.preset: there is no preset \"nothing\"; `mcp-jail preset` lists them"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestPresetFlag tests that no start takes a preset by a flag, and that a package's name alone grants nothing.
func TestPresetFlag(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	server := cmdline.Server{Given: true, Argv: []string{"npx", "-y", "@modelcontextprotocol/server-github"}}
	plain, err := Load(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", server)
	if err != nil || len(plain.Policy.Net) > 0 || !plain.Policy.Default || plain.Preset() != "" {
		t.Errorf("without a preset: %+v, %v", plain.Policy, err)
	}
	for how, start := range map[string]func(f cmdline.PolicyFlags) (*Target, error){
		"a line": func(f cmdline.PolicyFlags) (*Target, error) { return Load(cmdline.ConfigFlags{}, f, "", "", server) },
		"a table": func(f cmdline.PolicyFlags) (*Target, error) {
			return Load(cmdline.ConfigFlags{}, f, "s", "", cmdline.Server{})
		},
		"an id": func(f cmdline.PolicyFlags) (*Target, error) {
			f.ID = "s-0123456789ab"
			return Load(cmdline.ConfigFlags{}, f, "", "", server)
		},
	} {
		if _, err := start(cmdline.PolicyFlags{Preset: "github-archived"}); terminal.Status(err) != terminal.Usage || !strings.Contains(err.Error(), "--preset github-archived: a preset is for a server with an id, or for a table") {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// BenchmarkFitPreset measures what a preset costs a start that uses one.
func BenchmarkFitPreset(b *testing.B) {
	s := &config.Server{Preset: "github", Command: "github-mcp-server"}
	for b.Loop() {
		if _, err := fitPreset(s, nil, hostfs.Host{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNarrowPreset tests that a preset starts in a directory around which the jail lets the server write
// everything, with a rule that can be held, and that this is said.
func TestNarrowPreset(t *testing.T) {
	all := &config.Access{Fs: []policy.FsRule{{Path: ".", Create: true, Update: true, Delete: true}}}
	for _, c := range []struct {
		preset, dir string
		own         *config.Access
		want, says  string
	}{
		{"playwright", "/tmp/x", nil, "read", "may only read /tmp/x"},
		{"playwright", "/dev/shm/x", nil, "read", "may only read /dev/shm/x"},
		{"playwright", "/tmp/x", all, "read", ""},
		{"playwright", "/var/tmp/x", nil, "read create", ""},
		{"playwright", "/tmpx", nil, "read create", ""},
		{"figma", "/tmp/x", nil, "read", "may only read /tmp/x"},
		{"desktop-commander", "/tmp/x", nil, "read write execute", ""},
		{"chrome-devtools", "/tmp/x", nil, "read", ""},
		{"github", "/tmp/x", nil, "", ""},
	} {
		s := &config.Server{Preset: c.preset, Command: "x", Workspace: c.dir, Access: c.own}
		f, err := fitPreset(s, nil, hostfs.Host{Dir: "/"})
		testkit.Must(t, err)
		got := strings.TrimPrefix(f.Server.Access.Workspace, "none")
		for _, r := range f.Server.Access.Fs {
			if r.Path == "." {
				got += r.Rights().String()
			}
		}
		said := strings.Join(WarningTexts(f.Warnings), " ")
		if got != c.want || !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "only read") {
			t.Errorf("%s in %s: %q, want %q; it says %q", c.preset, c.dir, got, c.want, said)
		}
	}
}

// TestPresetInJail tests that a server gets what its preset adds in a jail, and that the line of the user
// stays what it is: it goes into messages and client files.
func TestPresetInJail(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	program := filepath.Join(home, "bin", "chrome-mcp")
	testkit.Must(t, os.Mkdir(filepath.Dir(program), 0o755))
	testkit.Must(t, testkit.WriteProgram(program, []byte("#!/bin/sh\n")))
	line := []string{program, "--isolated"}
	load := func(preset string, argv []string) *Target {
		text := "[servers.s]\ncommand = " + show.TOML(argv[0]) + "\narguments = " + show.List(argv[1:]) + "\n"
		if preset != "" {
			text += "preset = \"" + preset + "\"\n"
		}
		config := filepath.Join(home, "config.toml")
		testkit.WriteFile(t, config, text)
		got, err := Load(cmdline.ConfigFlags{Config: []string{config}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
		testkit.Must(t, err)
		testkit.Must(t, got.Resolve())
		return got
	}
	sandbox := func(target *Target) (value string) {
		for _, v := range target.Profile.Env {
			if v.Name == "PUPPETEER_DANGEROUS_NO_SANDBOX" {
				value = v.Value
			}
		}
		return value
	}
	got := load("chrome-devtools", line)
	if !slices.Contains(got.Profile.Argv, "--headless") || sandbox(got) != "true" || !slices.Equal(got.givenCommand(), line) {
		t.Errorf("%q with %v; the line of the user is %q", got.Profile.Argv, got.Profile.Env, got.givenCommand())
	}
	if got := load("chrome-devtools", append(line, "--headless")); strings.Count(strings.Join(got.Profile.Argv, " "), "--headless") != 1 {
		t.Errorf("with an argument of the line: %q", got.Profile.Argv)
	}
	if got := load("", line); !slices.Equal(got.Profile.Argv[len(got.Profile.Argv)-1:], line[1:]) || sandbox(got) != "" {
		t.Errorf("without a preset: %q, %v", got.Profile.Argv, got.Profile.Env)
	}
}
