package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// everyKey has most keys of docs/reference.md "Configuration". Encode writes each of its settings
// to the same line.
const everyKey = `version = 1

[servers.github]
preset    = "github-archived"
command   = "npx"
arguments = ["-y", "@modelcontextprotocol/server-github"]
workspace = "."
stateful  = true
variables = ["GITHUB_PERSONAL_ACCESS_TOKEN"]
home      = "private"
startup_timeout_secs = 60
call_timeout_secs    = 0
roots     = "off"
pin_tools = "enforce"
undo = "call"
undo_total_mb = 99
leaks = "block"
leak_patterns = true
waive = ["limits", "ipc", "macos", "windows"]

[[servers.github.access.fs]]
path = "."
read = true
write = true

[[servers.github.access.net]]
host   = "api.github.com"
scheme = "https"
methods = ["POST", "GET"]
secret = { env = "GITHUB_TOKEN", header = "Authorization" }
allow  = true

[[servers.github.access.inbound]]
port = 3334

[[servers.github.access.env]]
name = "GH_*"
read = true

[servers.github.access]
sensitive_paths = ["~/.myapp/secrets", "**/.secret.*"]

[servers.github.access.commands.git]
args = [["log", "**"], ["status"]]
envs = ["GIT_TRACE"]

[servers.github.limits]
memory_mb = 4096
processes = 512
open_files = 4096
file_size_mb = 1024
message_mb = 64

[servers.notes]
command  = "notes-server"
stateful = false
warm     = 1

[[servers.notes.tools.search.access.fs]]
path = "notes"
read = true
`

func TestDecodeEveryKey(t *testing.T) {
	c, err := Decode([]byte(everyKey), "mcp-jail.toml")
	testkit.Must(t, err)
	if _, err := c.Policy("notes", ""); err == nil || !strings.Contains(err.Error(), "mcp-jail.toml:4: the preset github-archived") {
		t.Errorf("a policy without the preset of another server: %v", err)
	}
	c.LayBelow("github", &Server{})
	p, err := c.Policy("github", "")
	testkit.Must(t, err)
	want := &policy.Policy{
		Server: "github", Command: "npx", Arguments: []string{"-y", "@modelcontextprotocol/server-github"},
		Workspace: ".", Stateful: true, Startup: time.Minute, Roots: "off", Packages: policy.Packages{PinTools: policy.PinEnforce}, Leaks: policy.LeaksBlock, LeakPatterns: true, Undo: policy.Undo{Mode: policy.UndoCall, TotalMB: 99},
		Fs:      []policy.FsRule{{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: "mcp-jail.toml:21"}},
		Net:     []policy.NetRule{{Host: "api.github.com", Scheme: "https", Methods: []string{"GET", "POST"}, Secrets: []policy.Secret{{Env: "GITHUB_TOKEN", Header: []string{"Authorization"}, Where: "mcp-jail.toml:30"}}, Allow: true, Where: "mcp-jail.toml:26"}},
		Inbound: []policy.InboundRule{{Port: 3334, Where: "mcp-jail.toml:33"}},
		Env:     []policy.EnvRule{{Name: "GH_*", Read: true, Where: "mcp-jail.toml:36"}, {Name: "GITHUB_PERSONAL_ACCESS_TOKEN", Read: true, Where: "mcp-jail.toml:9"}},
		Commands: []policy.CommandRule{{Name: "git", Args: [][]string{{"log", "**"}, {"status"}}, Envs: []string{"GIT_TRACE"},
			Where: "mcp-jail.toml:43"}},
		Sensitive: []string{"~/.myapp/secrets", "**/.secret.*"}, Limits: policy.DefaultLimits, Waive: []policy.Axis{policy.AxisIPC, policy.AxisLimits, policy.WaiveMacOS, policy.WaiveWindows}, Where: "mcp-jail.toml:3",
	}
	if len(p.Others) != 2 || p.Others[0].Server != "notes" || p.Others[0].Tool != "" || p.Others[1].Tool != "search" {
		t.Errorf("the other processes: %+v", p.Others)
	}
	if n := len(p.Settings); n != 13 || p.Settings[10].String() != "startup_timeout_secs = 60  mcp-jail.toml:11" {
		t.Errorf("%d settings: %v", n, p.Settings)
	}
	p.Others, p.Settings = nil, nil
	if !reflect.DeepEqual(p, want) {
		t.Errorf("policy of github\n got %+v\nwant %+v", p, want)
	}
	p, err = c.Policy("notes", "search")
	if err != nil || p.Default || p.Warm != 1 || p.Stateful || len(p.Fs) != 1 || p.Fs[0].Path != "notes" || p.Fs[0].Rights() != policy.Read {
		t.Errorf("policy of notes.search = %+v, %v", p, err)
	}
	for _, tool := range []string{"", "other"} {
		if p, err = c.Policy("notes", tool); err != nil || !p.Default || len(p.Fs) != 1 || p.Fs[0].Path != "." {
			t.Errorf("policy of notes %q is not the default one: %+v, %v", tool, p, err)
		}
	}
	if _, err = c.Policy("github", "x"); err == nil || !strings.Contains(err.Error(), "stateful") {
		t.Errorf("a tool's policy of a stateful server: %v", err)
	}
	var unknown *UnknownServerError
	if _, err = c.Policy("githb", ""); !errors.As(err, &unknown) || !strings.Contains(err.Error(), `did you mean "github"`) {
		t.Errorf("an unknown server: %v", err)
	}
}

func TestDecodeProblems(t *testing.T) {
	s := "[servers.s]\ncommand = \"x\"\n"
	net := s + "[[servers.s.access.net]]\nhost = \"a\"\nallow = true\n"
	tests := []struct{ name, toml, want string }{
		{"unknown key", s + "argument = []", `f:3: servers.s.argument is not a known key; did you mean arguments?`},
		{"unknown top", "server = 1", `f:1: server is not a known key; did you mean servers?`},
		{"nothing near", s + "zzzzzzzz = 1", `f:3: servers.s.zzzzzzzz is not a known key; known here: access, arguments`},
		{"wrong type", s + "arguments = \"-y\"", `f:3: servers.s.arguments must be an array, not a string`},
		{"bool", s + "stateful = \"yes\"", `f:3: servers.s.stateful must be true or false, not a string`},
		{"huge", s + "warm = 99999999999999999999", `f:3: servers.s.warm: the number 99999999999999999999 is out of range`},
		{"range", s + "startup_timeout_secs = -1", `f:3: servers.s.startup_timeout_secs must be between 0 and`},
		{"table twice", s + "[servers.s]\n", `f:3: [servers.s] is defined twice, first in line 1`},
		{"key twice", s + "command = \"y\"", `f:3: servers.s.command is given twice, first in line 2`},
		{"inline extended", "servers = {}\n[servers.s]", `f:2: [servers.s] cannot be a table: servers is an inline table in line 1`},
		{"table not array", s + "[servers.s.access.fs]\npath = \".\"", `f:3: servers.s.access.fs must be an array of tables: write [[servers.s.access.fs]]`},
		{"not utf-8", s + "# \xff", `f:3: is not valid UTF-8 (byte 0xff)`},
		{"NUL", s + "#\x00", `f:3: contains a NUL byte`},
		{"escaped NUL", s + `workspace = "\u0000"`, `f:3: servers.s.workspace: contains a NUL`},
		{"syntax", s + "x = ", `f:3: is not valid TOML`},
		{"deeper", s + "x = " + strings.Repeat("[", 300000), `f:3: is not valid TOML`},
		{"deep key", strings.Repeat("a.", 5000) + "a = 1", `f:1: the key has more than 16 parts`},
		{"too big", strings.Repeat("#", 1<<20+1), `f: is 1048577 bytes`},
		{"version", "version = 2", `f:1: version 2 is not known`},
		{"server name", "[servers.\"a/b\"]\ncommand = \"x\"", `f:1: servers."a/b": the server name "a/b" is refused`},
		{"no command", "[servers.s]\nwarm = 1", `f:1: servers.s.command: [servers.s] has no command`},
		{"home", s + "home = \"rael\"", `f:3: servers.s.home must be "private" or "real", not "rael"`},
		{"waive", s + "waive = [\"all\"]", `f:3: servers.s.waive must be "fs" or "net" or "ipc"`},
		{"no path", s + "[[servers.s.access.fs]]\nread = true", `f:3: servers.s.access.fs.path: servers.s.access.fs has no path`},
		{"no right", s + "[[servers.s.access.fs]]\npath = \"private\"", `f:3: servers.s.access.fs: path = "private" says nothing. A rule grants rights or takes them away: to hide this path, write deny = true; otherwise remove the rule`},
		{"deny and a right", s + "[[servers.s.access.fs]]\npath = \"a\"\nread = true\ndeny = true", `path = "a" has deny and other keys: a rule grants rights or takes them away`},
		{"empty path", s + "[[servers.s.access.fs]]\npath = \"\"", `f:4: servers.s.access.fs.path: the path is empty`},
		{"glob", s + "[[servers.s.access.fs]]\npath = \"src/**\"", `there are no globs`},
		{"inbound port", s + "[[servers.s.access.inbound]]\nport = 65536", `f:4: servers.s.access.inbound.port must be between 1 and 65535, not 65536`},
		{"method", net + "methods = [\"get\"]", `f:3: servers.s.access.net: methods: "get" is not a method: write it as HTTP does, as "GET"`},
		{"connect", net + "methods = [\"CONNECT\"]", `methods: CONNECT opens a tunnel`},
		{"no method", net + "methods = []", `f:6: servers.s.access.net.methods is empty: leave it out for any method`},
		{"methods of tcp", net + "scheme = \"tcp\"\nport = 1\nmethods = [\"GET\"]", `scheme = "tcp" has no methods`},
		{"host", s + "[[servers.s.access.net]]\nhost = \"u@h\"", `f:4: servers.s.access.net.host: "u@h" contains user info`},
		{"tcp port", s + "[[servers.s.access.net]]\nhost = \"h\"\nallow = true\nscheme = \"tcp\"", `f:3: servers.s.access.net: scheme = "tcp" needs a port`},
		{"prefix", s + "[[servers.s.access.net]]\nhost = \"h\"\nallow = true\npath_prefix = \"a\"", `must begin with "/"`},
		{"env star", s + "[[servers.s.access.env]]\nname = \"A*B\"", `the only wildcard is one trailing "*"`},
		{"variables star", s + "variables = [\"A*\"]", `f:3: servers.s.variables: "A*": only access.env takes a prefix`},
		{"sensitive", s + "[servers.s.access]\nsensitive_paths = [\"**\", \"~/[\"]", `f:4: servers.s.access.sensitive_paths`},
		{"tail", s + "[servers.s.access.commands.git]\nargs = [[\"**\", \"x\"]]", `"**" is only allowed as the last word`},
		{"no arguments", s + "[servers.s.access.commands.git]\nargs = []", `args = [[]] for a program without arguments`},
		{"mixed arguments", s + "[servers.s.access.commands.git]\nargs = [\"a\", [\"b\"]]", `f:4: servers.s.access.commands.git.args must be a string, not an array`},
		{"strategy", s + "arguments = { strategy = \"merge\", value = [] }", `strategy must be "append" or "prepend" or "replace" or "dedup", not "merge"`},
		{"conflict of kinds", s + "tools = 3", `f:3: servers.s.tools must be a table, not an integer`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.toml), "f")
			var ps policy.Problems
			if !errors.As(err, &ps) || len(ps) == 0 {
				t.Fatalf("error is %v, not Problems", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("\n got %s\nwant %s", err, tt.want)
			}
			for _, p := range ps {
				if p.File != "f" {
					t.Errorf("a problem without its file: %+v", p)
				}
			}
		})
	}
}

// TestDecodeAllProblems checks that all problems of a file are reported at once, in the
// order of lines.
func TestDecodeAllProblems(t *testing.T) {
	_, err := Decode([]byte("version = 3\n[servers.s]\ncommand = 1\nhme = \"real\"\n[[servers.s.access.fs]]\nraed = true\n"), "f")
	var ps policy.Problems
	errors.As(err, &ps)
	var lines []int
	for _, p := range ps {
		lines = append(lines, p.Line)
	}
	if want := []int{1, 3, 4, 5, 6}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v:\n%v", lines, want, err)
	}
}

// TestDecodeManyProblems checks that the report of a file with a problem in every line
// stays readable.
func TestDecodeManyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 60000 {
		b.WriteString("k" + strings.Repeat("x", i%7) + "_" + string(rune('a'+i%26)) + "=1\n")
	}
	start := time.Now()
	_, err := Decode([]byte(b.String()), "f")
	var ps policy.Problems
	if !errors.As(err, &ps) || len(ps) > policy.MaxProblems+1 {
		t.Fatalf("%d problems", len(ps))
	}
	t.Logf("%d problems in %v", len(ps), time.Since(start))
}

func TestWriteAlias(t *testing.T) {
	for toml, want := range map[string]policy.Rights{
		"write = true":                                  policy.Write,
		"write = true\ndelete = false":                  policy.Create | policy.Update,
		"delete = false\nwrite = true":                  policy.Create | policy.Update,
		"create = true":                                 policy.Create,
		"write = false\nupdate = true":                  policy.Update,
		"read = true\nwrite = true\nexecute = true":     policy.AllRights,
		"write = true\ncreate = false\nupdate = false ": policy.Delete,
	} {
		c, err := Decode([]byte("[servers.s]\ncommand = \"x\"\n[[servers.s.access.fs]]\npath = \"p\"\n"+toml), "f")
		testkit.Must(t, err)
		if got := c.Servers["s"].Access.Fs[0].Rights(); got != want {
			t.Errorf("%q grants %s, want %s", toml, got, want)
		}
	}
}

// TestSecretHeader lists the header fields that may carry a secret and those that may not.
func TestSecretHeader(t *testing.T) {
	for header, want := range map[string]string{
		`"Authorization"`: "", `"X-My-Token"`: "", `["X-One", "Cookie"]`: "",
		`""`: "header is empty", `[]`: "header is empty", `"a b"`: "write the name of a header field", `"X:"`: "write the name", `"X-\u00e4"`: "write the name", `"Host"`: "says where a request goes", `"x-forwarded-Host"`: "says where a request goes",
		`"X_Original_URL"`: "says where a request goes", `"Proxy-Authorization"`: "says where a request goes", `"Content-Length"`: "where it ends", `1`: "must be a string",
	} {
		text := api + `{ env = "T", header = ` + header + " }\n"
		c, err := Decode([]byte(text), "c.toml")
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", header, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		again, err := Decode(c.Encode(), "c.toml")
		if err != nil || !slices.Equal(again.Servers["s"].Access.Net[0].Secrets[0].Header, c.Servers["s"].Access.Net[0].Secrets[0].Header) {
			t.Errorf("%s: %v, %s", header, err, c.Encode())
		}
	}
}
