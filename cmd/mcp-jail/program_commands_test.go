//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commandsConfig has two rules for git, a script, and two programs with different variables.
const commandsConfig = `version = 1
[servers.s]
command = "node"
arguments = [%q]
variables = ["A_VAR", "B_VAR"]
[[servers.s.access.fs]]
path = "."
read = true
write = true
[[servers.s.access.fs]]
path = %q
read = true
execute = true
[servers.s.access.commands.git]
args = [["status", "**"], ["log", "--oneline", "*"]]
[servers.s.access.commands.%q]
args = ["check"]
[servers.s.access.commands.%q]
envs = ["A_VAR"]
[servers.s.access.commands.%q]
envs = ["B_VAR"]
`

// TestCommandArguments tests the examples of docs/policy.md "Command rules".
func TestCommandArguments(t *testing.T) {
	need(t, "node", "git")
	for _, user := range []bool{false, true} {
		t.Run(fmt.Sprint("ordinary user ", user), func(t *testing.T) {
			if user && os.Getuid() != 0 {
				t.Skip("only root: it runs as another user")
			}
			t.Parallel()
			w := newWorld(t)
			tools := filepath.Join(w.base, "tools")
			show := "#!/bin/sh\necho \"A=${A_VAR-} B=${B_VAR-} OTHER=${OTHER-}\"\n"
			w.plant(t, tools, map[string]string{"cargo": "#!/bin/sh\necho cargo \"$@\"\n", "one": show, "two": show})
			for _, name := range []string{"cargo", "one", "two"} {
				must(t, os.Chmod(filepath.Join(tools, name), 0o755))
			}
			cargo, one, two := tools+"/cargo", tools+"/one", tools+"/two"
			config := filepath.Join(w.base, "commands.toml")
			must(t, os.WriteFile(config, fmt.Appendf(nil, commandsConfig, w.fixture(t, "exec.mjs"), tools, cargo, one, two), 0o644))
			w.env = append(w.env, "A_VAR=a", "B_VAR=b", "GIT_CONFIG_GLOBAL=/dev/null")
			for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "first"}} {
				must(t, w.plain(append([]string{"git"}, args...)...).Run())
			}
			if user {
				w.asOrdinaryUser(t)
			}
			s := open(t, w.jail("--config", config, "s"), nil)
			s.mustRun("git", "status")
			s.mustRun("git", "status", "--short", ".")
			if out := s.mustRun("git", "log", "--oneline", "HEAD"); !strings.Contains(out, "first") {
				t.Errorf("git log: %s", out)
			}
			for _, argv := range []string{"git push", "git log", "git log --oneline", "git -c alias.x=!sh x", "git --exec-path=/tmp status"} {
				if got := s.mustFail("no rule of access.commands allows that", strings.Fields(argv)...); !strings.Contains(got, "mcp-jail help arguments") {
					t.Errorf("%s: %s", argv, got)
				}
			}
			if out := s.mustRun(cargo, "check"); !strings.Contains(out, "cargo check") {
				t.Errorf("cargo: %s", out)
			}
			s.mustFail("no rule of access.commands allows that", cargo, "run")
			s.mustFail("", "sh", "-c", cargo+" check")
			s.mustFail("", "sh", "-c", "git status")
			for program, want := range map[string]string{one: "A=a B= OTHER=", two: "A= B=b OTHER="} {
				if out := s.mustRun(program); !strings.Contains(out, want) {
					t.Errorf("%s: %s, want %s", program, out, want)
				}
			}
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d: %s", status, &s.stderr)
			}
			if why := w.output(t, "why", "--verbose", "s"); !strings.Contains(why, `from starting /usr/bin/git as git -c 'alias.x=!sh' x`) {
				t.Errorf("%s", why)
			}
			w.noneLeft(t)
		})
	}
}
