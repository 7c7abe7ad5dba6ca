package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
