package learn

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestArguments: which arguments a rule has after some starts of a program. Starts are separated by
// "|". "any" is a rule without arguments.
func TestArguments(t *testing.T) {
	for _, c := range []struct{ name, starts, want string }{
		{"git", "git status --short", "status **"},
		{"git", "git status | git log -1 | git log --all", "log ** | status **"},
		{"git", "git -C /a log | git -C /b log", "-C * log **"},
		{"git", "git -c user.token=abc --no-pager log x", "-c * --no-pager log **"},
		{"git", "git --version", "--version"},
		{"git", "git", ""},
		{"git", "git https://token@host/x", "*"},
		{"git", "git --git-dir=/x status", "* status **"},
		{"git", "git --a --b --c --d --e --f --g", "--a --b --c --d --e --f **"},
		{"git", "/usr/bin/git log", "log **"},
		{"git", "/opt/git log", "any"},
		{"git", "git-alias log", "any"},
		{"uname", "uname -a", "-a"},
		{"uname", "uname -a | uname -r | uname", " | -a | -r"},
		{"ls", "ls src", "any"},
		{"mysql", "mysql -phunter", "any"},
		{"docker", "docker --token=x ps", "* ps **"},
		{"curl", "curl -H Authorization:x", "any"},
		{"rg", "rg -a | rg -b | rg -c | rg -d | rg -e", "any"},
		{"sh", "sh -c ls", "-c ls"},
		{"bash", "bash -c git_status", "-c git_status"},
		{"sh", "sh -c ls;id", "-c **"},
		{"sh", "sh ./build.sh all", "./build.sh **"},
		{"sh", "sh", "any"},
		{"python3", "python3 tool.py secret", "tool.py **"},
		{"python3", "python3 -m http.server 80", "-m http.server **"},
		{"python3", "python3 -c print(1)", "any"},
		{"python3", "python3 --version", "--version"},
		{"node", "node --inspect a.js", "any"},
	} {
		p := &program{path: "/usr/bin/" + c.name, starts: map[string]*start{}}
		for one := range strings.SplitSeq(c.starts, " | ") {
			p.starts[one] = &start{argv: strings.Fields(one)}
		}
		lists, _ := p.arguments(c.name)
		texts := []string{}
		for _, list := range lists {
			texts = append(texts, strings.Join(list, " "))
		}
		got := strings.Join(texts, " | ")
		if lists == nil {
			got = "any"
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.starts, got, c.want)
		}
	}
	for line, want := range map[string]bool{"ls": true, "git status": true, "git --version": true, "git log src": false, "ls src": false, "ls -l": true, "": false, "-x": false, "ls  -l": false, "ls;id": false, "ls $HOME": false, "A=1 ls": false} {
		if isPlainLine(line) != want {
			t.Errorf("%q is plain: %t", line, !want)
		}
	}
}

// TestOwnPrograms: a program of the server's own package has a rule, though packages are hidden from servers.
// One of another package has none.
func TestOwnPrograms(t *testing.T) {
	const packages = "/home/u/.local/share/mcp-jail/packages/npm/"
	h := newHost(packages+"a/1/tree/node_modules/a/dist/tool*", packages+"b/1/tree/tool*")
	in := h.input(t, seen("start execute "+packages+"a/1/tree/node_modules/a/dist/tool --x\nstart execute "+packages+"b/1/tree/tool")...)
	in.Bare.Parts = append(in.Bare.Parts, policy.Part{Path: packages + "a/1/tree"})
	r := Learn(in)
	rules := r.Rules()
	if len(rules) != 1 || rules[0].Command.Name != "~"+strings.TrimPrefix(packages, "/home/u")+"a/1/tree/node_modules/a/dist/tool" || rules[0].Command.Args != nil {
		t.Errorf("%s", r.TOML())
	}
	if got, want := r.Verdict(), "starts tool; wanted ~/.local/share/mcp-jail (refused)"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
