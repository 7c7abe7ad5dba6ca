package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStarts checks the forms in which the kernel starts the program of a rule with arguments.
func TestStarts(t *testing.T) {
	const files = `x /usr/bin/git
x /usr/bin/bash
x /usr/bin/env
x /usr/bin/python3.11
l /usr/bin/python3 python3.11
x /opt/plain #!/usr/bin/bash\n
x /opt/option #!/usr/bin/bash  -e -u \n
x /opt/tab #!/usr/bin/bash	-e\n
x /opt/env #!/usr/bin/env bash\n
x /opt/split #!/usr/bin/env -S A=b bash -x -y\n
x /opt/python #!/usr/bin/python3\n
x /opt/nested #!/opt/plain\n
l /opt/link plain
`
	for _, c := range []struct{ name, want, warning string }{
		{"git", "/usr/bin/git git [] ", ""},
		{"/usr/bin/git", "/usr/bin/git git [] ", ""},
		{"python3", "/usr/bin/python3.11 python3 [] ", ""},
		{"/opt/plain", "/usr/bin/bash bash [] /opt/plain", ""},
		{"/opt/link", "/usr/bin/bash bash [] /opt/plain", ""},
		{"/opt/option", "/usr/bin/bash bash [-e -u] /opt/option", ""},
		{"/opt/tab", "/usr/bin/bash bash [-e] /opt/tab", ""},
		{"/opt/env", "/usr/bin/env env [bash] /opt/env, /usr/bin/bash bash [] /opt/env", ""},
		{"/opt/split", "/usr/bin/env env [-S A=b bash -x -y] /opt/split, /usr/bin/bash bash [-x -y] /opt/split", ""},
		{"/opt/python", "/usr/bin/python3.11 python3 [] /opt/python", ""},
		{"/opt/nested", "", "command-interpreter"},
	} {
		p, ws := mustResolve(t, newFake(aSystem, files), aServer+fmt.Sprintf("[servers.s.access.commands]\n%q = { args = [\"x\"] }\n", c.name))
		var got []string
		for _, s := range p.Commands[0].Starts {
			got = append(got, fmt.Sprintf("%s %s %v %s", s.File, s.Name, s.Lead, s.Script))
		}
		if strings.Join(got, ", ") != c.want || strings.Contains(codes(ws), "command-interpreter") != (c.warning != "") {
			t.Errorf("%s: %q, %s", c.name, got, codes(ws))
		}
	}
	p, _ := mustResolve(t, newFake(aSystem, files), aServer+"[servers.s.access.commands]\ngit = { args = [\"x\"] }\nbash = {}\n")
	if s := p.Commands[0].Starts; p.Commands[0].Name != "bash" || s[0].Name != "" {
		t.Errorf("any name in argv[0]: %+v", p.Commands)
	}
	if p, _ = mustResolve(t, newFake(aSystem, files), aServer+"[servers.s.access.commands]\ngit = {}\n"); p.Commands != nil || p.OwnPrograms != nil || p.ConstrainsStarts() {
		t.Errorf("without arguments: %+v", p.Commands)
	}
	for _, table := range []string{"args = [\"x\"]", "args = [[]]", "envs = []", "envs = [\"A\"]"} {
		if p, _ = mustResolve(t, newFake(aSystem, files), aServer+"[servers.s.access.commands.git]\n"+table+"\n"); !p.ConstrainsStarts() || len(p.OwnPrograms) == 0 {
			t.Errorf("%s: %+v", table, p)
		}
	}
}

// TestStartPaths checks the paths that argv[0] of a program may be.
func TestStartPaths(t *testing.T) {
	const files = `x /usr/bin/git
x /usr/bin/dash
l /usr/bin/sh dash
x /usr/bin/python3.11
l /usr/bin/python3 python3.11
x /usr/local/bin/other
l /usr/local/sbin/git /usr/bin/git
l /home/u/proj/bin/git /usr/bin/git
l /home/u/proj/venv/bin/python3 /usr/bin/python3.11
x /usr/bin/script #!/bin/sh\n
x /usr/bin/box
l /usr/bin/wc box
`
	for _, c := range []struct{ name, want string }{
		{"git", "[/bin/git /usr/bin/git /usr/local/sbin/git]"},
		{"sh", "[/bin/sh /usr/bin/sh]"},
		{"/bin/sh", "[/bin/sh /usr/bin/sh]"},
		{"python3", "[/bin/python3 /usr/bin/python3]"},
		{"wc", "[/bin/wc /usr/bin/wc]"}, // and not the file: it would be another program under that name
		{"/home/u/proj/venv/bin/python3", "[/bin/python3 /home/u/proj/venv/bin/python3 /usr/bin/python3]"},
		{"script", "[/bin/sh /usr/bin/sh]"},
	} {
		p, _, err := resolveTool(t, newFake(aSystem, files), aServer+fmt.Sprintf("[[servers.s.access.fs]]\npath = \".\"\nwrite = true\n[servers.s.access.commands]\n%q = { args = [\"x\"] }\n", c.name), "", withPath("/home/u/proj/bin:/usr/bin:/bin")) // the server may write to the first
		testkit.Must(t, err)
		if len(p.Commands) != 1 {
			t.Fatalf("%s: %+v", c.name, p.Commands)
		}
		if got := fmt.Sprint(p.Commands[0].Starts[0].Paths); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestWritableCommand checks that a rule with arguments leads to a warning if the server can
// replace its program.
func TestWritableCommand(t *testing.T) {
	const files = "x /home/u/proj/tool\nx /usr/bin/git\n"
	for rule, want := range map[string]bool{"write = true": true, "read = true": false} {
		_, ws := mustResolve(t, newFake(aSystem, files), aServer+"[[servers.s.access.fs]]\npath = \".\"\n"+rule+"\n[servers.s.access.commands]\ngit = { args = [\"x\"] }\n\"/home/u/proj/tool\" = { args = [\"x\"] }\n")
		if got := strings.Count(codes(ws), "writable-command") == 1; got != want {
			t.Errorf("%s: %s", rule, codes(ws))
		}
	}
}
