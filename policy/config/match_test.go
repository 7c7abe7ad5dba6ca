package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestInPlace(t *testing.T) {
	p, err := FromCommandLine(CommandLineOptions{Command: []string{"npx", "-y", "@scope/server-x@1.2"}, Env: []string{"A"}})
	if err != nil || !p.Default || len(p.Fs) != 1 || len(p.Env) != 1 || !strings.HasPrefix(p.Server, "server-x-") || !p.Stateful {
		t.Errorf("default: %+v, %v", p, err)
	}
	p, err = FromCommandLine(CommandLineOptions{Command: []string{"x"}, Read: []string{"src"}, Write: []string{"out"}, Net: []string{"A.b:8080", "[::1]:80", "::1", "10.0.0.1"}, Name: "n", Home: "real", Waive: []policy.Axis{policy.AxisNet}})
	if err != nil || p.Default || p.Server != "n" || !p.HomeReal || len(p.Waive) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p.Fs[0].Rights() != policy.Read || p.Fs[1].Rights() != policy.Read|policy.Write || p.Fs[1].Where != "--write out" {
		t.Errorf("fs %+v", p.Fs)
	}
	if p.Net[0].Host != "a.b" || p.Net[0].Port != 8080 || p.Net[1].Host != "::1" || p.Net[1].Port != 80 || p.Net[2].Host != "::1" || p.Net[2].Port != 0 {
		t.Errorf("net %+v", p.Net)
	}
	if p, _ = FromCommandLine(CommandLineOptions{Command: []string{"x"}, Net: []string{"a"}}); p.Default || len(p.Fs) != 0 {
		t.Errorf("--net replaces the default: %+v", p)
	}
	for want, o := range map[string]CommandLineOptions{
		"there is no command":                       {},
		"--net a:b: \"a:b\": the port":              {Command: []string{"x"}, Net: []string{"a:b"}},
		"--net a:99999":                             {Command: []string{"x"}, Net: []string{"a:99999"}},
		"--name ../x: a name consists":              {Command: []string{"x"}, Name: "../x"},
		"--home foo: must be":                       {Command: []string{"x"}, Home: "foo"},
		"--env A=B: \"A=B\" is not the name":        {Command: []string{"x"}, Env: []string{"A=B"}},
		"--waive all: must be one of fs, net":       {Command: []string{"x"}, Waive: []policy.Axis{"all"}},
		"--read : the path is empty":                {Command: []string{"x"}, Read: []string{""}},
		"--write ~x: \"~x\": only ~/ is understood": {Command: []string{"x"}, Write: []string{"~x"}},
		"COMMAND: the command contains a NUL":       {Command: []string{"x", "\x00"}},
	} {
		if _, err := FromCommandLine(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

func TestDefaultName(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-github": "server-github-", "uvx mcp-server-git==1.0": "mcp-server-git-", "uvx --from x y": "x-",
		"node /srv/weather/dist/index.js": "weather-", "node server.js": "server-", "python3 -m foo": "foo-", "/opt/a/run": "run-", "..": "server-", "npm exec pkg": "pkg-",
	} {
		got := DefaultName(strings.Fields(line), "/srv")
		if !strings.HasPrefix(got, want) || !policy.ValidServerName(got) {
			t.Errorf("%q: %q, want %s...", line, got, want)
		}
	}
	name := func(dir, line string) string { return DefaultName(strings.Split(line, "|"), dir) }
	if name("/", "a|b") == name("/", "a|c") || name("/", "a|b") == name("/", "a b") {
		t.Error("two commands, one name")
	}
	for line, differs := range map[string]bool{
		"node|dist/index.js": true, "./server": true, "bin/server|/x": true, "/usr/bin/python3.11|-u|server.py": true, "sh|run.sh": true,
		"node|/srv/dist/index.js": false, "npx|-y|server-github": false, "/opt/server|data": false, "~/bin/server": false, "server|data": false,
	} {
		if (name("/a", line) != name("/b", line)) != differs {
			t.Errorf("%s in two directories: %s and %s", line, name("/a", line), name("/b", line))
		}
	}
}
