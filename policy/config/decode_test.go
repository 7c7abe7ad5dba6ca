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
ask = false
log = "off"
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
		Fs:      []policy.FsRule{{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: "mcp-jail.toml:22"}},
		Net:     []policy.NetRule{{Host: "api.github.com", Scheme: "https", Methods: []string{"GET", "POST"}, Secrets: []policy.Secret{{Env: "GITHUB_TOKEN", Header: []string{"Authorization"}, Where: "mcp-jail.toml:31"}}, Allow: true, Where: "mcp-jail.toml:27"}},
		Inbound: []policy.InboundRule{{Port: 3334, Where: "mcp-jail.toml:34"}},
		Env:     []policy.EnvRule{{Name: "GH_*", Read: true, Where: "mcp-jail.toml:37"}, {Name: "GITHUB_PERSONAL_ACCESS_TOKEN", Read: true, Where: "mcp-jail.toml:9"}},
		Commands: []policy.CommandRule{{Name: "git", Args: [][]string{{"log", "**"}, {"status"}}, Envs: []string{"GIT_TRACE"},
			Where: "mcp-jail.toml:44"}},
		Sensitive: []string{"~/.myapp/secrets", "**/.secret.*"}, Limits: policy.DefaultLimits, Waive: []policy.Axis{policy.AxisIPC, policy.AxisLimits, policy.WaiveMacOS, policy.WaiveWindows}, Where: "mcp-jail.toml:3",
	}
	if len(p.Others) != 2 || p.Others[0].Server != "notes" || p.Others[0].Tool != "" || p.Others[1].Tool != "search" {
		t.Errorf("the other processes: %+v", p.Others)
	}
	if n := len(p.Settings); n != 15 || p.Settings[12].String() != "startup_timeout_secs = 60  mcp-jail.toml:11" {
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
	const s = "[servers.s]\ncommand = \"x\"\n"
	fill := strings.NewReplacer("$S", s, "$NET", s+"[[servers.s.access.net]]\nhost = \"a\"\nallow = true\n", "$API", api)
	rows := append(testkit.Rows(t, "problems.txt", 3),
		[]string{"deeper", s + "x = " + strings.Repeat("[", 300000), "f:3: is not valid TOML"},
		[]string{"deep key", strings.Repeat("a.", 5000) + "a = 1", "f:1: the key has more than 16 parts"},
		[]string{"too big", strings.Repeat("#", 1<<20+1), "f: is 1048577 bytes"})
	for _, row := range rows {
		name, text, want := row[0], fill.Replace(row[1]), row[2]
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(text), "f")
			var ps policy.Problems
			if !errors.As(err, &ps) || len(ps) == 0 {
				t.Fatalf("error is %v, not Problems", err)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("\n got %s\nwant %s", err, want)
			}
			for _, p := range ps {
				if p.File != "f" {
					t.Errorf("a problem without its file: %+v", p)
				}
			}
		})
	}
}

// TestNamesWithDollar: variables are not expanded, and a name may have what stands for them.
func TestNamesWithDollar(t *testing.T) {
	for _, path := range []string{"./$HOME", "$", "a$b"} {
		testkit.Must(t, policy.CheckPath(path))
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

// TestSecretHeader lists header fields that may carry a secret. testdata/problems.txt has those that may not.
func TestSecretHeader(t *testing.T) {
	for _, header := range []string{`"Authorization"`, `"X-My-Token"`, `["X-One", "Cookie"]`} {
		c, err := Decode([]byte(api+`{ env = "T", header = `+header+" }\n"), "c.toml")
		testkit.Must(t, err)
		again, err := Decode(c.Encode(), "c.toml")
		if err != nil || !slices.Equal(again.Servers["s"].Access.Net[0].Secrets[0].Header, c.Servers["s"].Access.Net[0].Secrets[0].Header) {
			t.Errorf("%s: %v, %s", header, err, c.Encode())
		}
	}
}
