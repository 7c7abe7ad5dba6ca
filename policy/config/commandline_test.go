package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFlags tests what flags say as a file, which has the same policy, and which of them leave the default policy in force.
func TestFlags(t *testing.T) {
	read := func(path string) string { return fmt.Sprintf("fs path = %q read = true ", path) }
	for _, c := range []struct {
		o         CommandLineOptions
		want      string
		byDefault bool
	}{
		{CommandLineOptions{Command: []string{"npx", "-y", "@scope/server-x@1.2"}}, `command = "npx" arguments = ["-y", "@scope/server-x@1.2"]`, true},
		{CommandLineOptions{Command: []string{"./serve"}}, `command = "/home/u/proj/serve"`, true},
		{CommandLineOptions{Env: []string{"A"}, Home: "real", Workspace: "w", Limit: []string{"memory_mb=8", "startup_timeout_secs=9"}, Waive: []policy.Axis{"macos", policy.AxisIPC}},
			`command = "x" workspace = "w" variables = ["A"] home = "real" startup_timeout_secs = 9 waive = ["macos", "ipc"] limits memory_mb = 8`, true},
		{CommandLineOptions{Env: []string{"A_*"}}, `command = "x" access workspace = "write" env name = "A_*" read = true`, true},
		{CommandLineOptions{Read: []string{"a"}, Env: []string{"A", "A_*"}}, `command = "x" variables = ["A"] access ` + read("a") + `env name = "A_*" read = true`, false},
		{CommandLineOptions{Deny: []string{"secret"}}, `command = "x" access workspace = "write" fs path = "secret" deny = true`, true},
		{CommandLineOptions{Write: []string{"."}, Deny: []string{"secret"}}, `command = "x" access ` + read(".") + `write = true fs path = "secret" deny = true`, false},
		{CommandLineOptions{Inbound: []string{"19880"}, Deny: []string{"secret"}}, `command = "x" access workspace = "write" fs path = "secret" deny = true inbound port = 19880`, true},
		{CommandLineOptions{Net: []string{"A.b:8080", "[::1]:80", "::1"}, Inbound: []string{"3334"}},
			`command = "x" access net host = "a.b" port = 8080 allow = true net host = "::1" port = 80 allow = true net host = "::1" allow = true inbound port = 3334`, false},
		{CommandLineOptions{Read: []string{"a", "b"}, Write: []string{"b", "c"}, Execute: []string{"c", "d", "a"}}, // a path has the rights of all its flags
			`command = "x" access ` + read("b") + "write = true " + read("c") + "write = true execute = true " + read("d") + "execute = true " + read("a") + "execute = true", false},
		{CommandLineOptions{Write: []string{"/home/u/proj", "src/gen"}, Read: []string{"src"}, Execute: []string{"tools"}}, // a flag inside one that writes takes away
			`command = "x" access fs path = "src" deny = "write" ` + read("/home/u/proj") + "write = true " + read("tools") + `execute = true fs path = "tools" deny = "write"`, false},
	} {
		if c.o.Dir = "/home/u/proj"; c.o.Command == nil {
			c.o.Command = []string{"x"}
		}
		want, err := FromCommandLine(c.o)
		testkit.Must(t, err)
		declared, err := c.o.Declared()
		testkit.Must(t, err)
		text := (&Config{Servers: map[string]*Server{"server": declared}}).Encode()
		short := regexp.MustCompile(`\[+servers\.server\.?(access\.)?(\w*)\]+|arguments = \[\]`).ReplaceAllString(string(text), "$2")
		if short = strings.Join(strings.Fields(short), " "); short != c.want {
			t.Errorf("got  %s\nwant %s", short, c.want)
		}
		got, err := decoded(t, string(text)).Policy("server", "")
		testkit.Must(t, err)
		if want.Default != c.byDefault || !want.FromCommandLine || want.Server != "server" || !want.Stateful {
			t.Errorf("%s: %+v", c.want, want)
		}
		asFile := c.byDefault || strings.Contains(c.want, "deny") // which say the same in another way
		if got.Command = want.Command; differ(want, got) && !asFile || got.Limits != want.Limits || !reflect.DeepEqual(got.InboundPorts(), want.InboundPorts()) {
			t.Errorf("%s: the file differs: %v, %q, %q", c.want, Compare(want, got), Gained(want, got), Gained(got, want))
		}
		for _, set := range want.Settings {
			if set.Where != "" {
				t.Errorf("the flag of %s is at %s", set.Key, set.Where)
			}
		}
	}
}

// TestFlagProblems tests what is said of flags that are wrong.
func TestFlagProblems(t *testing.T) {
	for want, o := range map[string]CommandLineOptions{
		"there is no command":                       {Command: []string{""}},
		"COMMAND: the command contains a NUL":       {Command: []string{"x", "\x00"}},
		"--net a:b: the port":                       {Net: []string{"a:b"}},
		"--net a:99999":                             {Net: []string{"a:99999"}},
		"--name ../x: a name consists":              {Called: "../x"},
		"--home foo: must be":                       {Home: "foo"},
		"--env A=B: a value is given after the nam": {Env: []string{"A=B"}},
		"--waive all: must be one of fs, net":       {Waive: []policy.Axis{"all"}},
		"--read : the path is empty":                {Read: []string{""}},
		"--write ~x: \"~x\": only ~/ is understood": {Write: []string{"~x"}},
		"--deny a: --read a grants the same path":   {Read: []string{"a"}, Deny: []string{"a"}},
		"--deny a: it is given twice":               {Deny: []string{"a", "a"}},
		"--deny \x00: the path contains a NUL":      {Deny: []string{"\x00"}},
		"--inbound 8443: inbound: port 8443 leads to a.test as well (--net a.test:8443): the server cannot listen on it": {Net: []string{"a.test:8443"}, Inbound: []string{"8443"}},
	} {
		if o.Command == nil {
			o.Command = []string{"x"}
		}
		if _, err := FromCommandLine(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	for _, bad := range []string{"0", "-1", "65536", "x", "", "80 ", "0x50", "+80", "080", "3334/tcp"} {
		if _, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Inbound: []string{bad}}); err == nil || !strings.HasPrefix(err.Error(), "--inbound "+bad) {
			t.Errorf("--inbound %q: %v", bad, err)
		}
	}
	for _, bad := range []string{"memory_mb", "memory_mb=", "memory_mb=-1", "memory_mb=0", "memry_mb=1", "=1", "memory_mb=1\nprocesses=2", "memory_mb=99999999999999999999", "open_files=1", "a.b=1", "leaks=1"} {
		if _, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Limit: []string{bad}}); err == nil || !strings.HasPrefix(err.Error(), "--limit ") {
			t.Errorf("--limit %q: %v", bad, err)
		}
	}
}
