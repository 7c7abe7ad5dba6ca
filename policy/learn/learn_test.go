package learn

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

const bare = "[servers.s]\ncommand = \"server\"\n[servers.s.access]\nfs = []\n[servers.s.access.commands]\n"

// input returns what Learn is asked of a server on the host.
func (h aHost) input(t testing.TB, all ...policy.Observation) Input {
	host := h.host()
	known := map[string]string{}
	remember := func(ask func() string, key string) string {
		if _, ok := known[key]; !ok {
			known[key] = ask()
		}
		return known[key]
	}
	return Input{
		Server: "s", Command: "server", Home: host.Home, Bare: h.profile(t, bare, ""), Learning: h.profile(t, "[servers.s]\ncommand = \"server\"\naccess.fs = [{ path = \"/\", read = true, execute = true }]\n", ""), Observations: all,
		Facts: Facts{
			Kind: func(p string) policy.Kind {
				f, err := host.Lstat(p)
				if err != nil {
					return 0
				}
				return hostfs.KindOf(f.Mode)
			},
			Sensitive: func(p string) string {
				return remember(func() string { return resolve.Sensitive(&host, &policy.Policy{}, p) }, "s"+p)
			},
			Guarded: func(p string, write bool) string {
				return remember(func() string { return resolve.Guarded(&host, p, write) }, fmt.Sprint(write, p))
			},
			Secrets: func(dir string) (files []string, whole bool) {
				for p := range h {
					if policy.Within(p, dir) && SecretName(path.Base(p)) {
						files = append(files, p)
					}
				}
				return files, dir != "/home/u/huge"
			},
			Program: func(name string) string {
				at, err := hostfs.NewLinkResolver(&host).Resolve("/usr/bin/" + name)
				if err != nil || !at.Exists() {
					return ""
				}
				return at.Path
			},
		},
	}
}

// seen reads observations, one a line: TOOL OPERATION TARGET and, for a program, its arguments. "start"
// is the start of the server. An operation ends with "?" if there was nothing at the path.
func seen(text string) (all []policy.Observation) {
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		o := policy.Observation{Axis: policy.AxisFs, Operation: words[1], Target: words[2], Count: 1, Time: at}
		if o.Tool = words[0]; o.Tool == "start" {
			o.Tool = ""
		}
		o.Operation, o.Absent = strings.TrimSuffix(words[1], "?"), strings.HasSuffix(words[1], "?")
		switch o.Operation {
		case "exec":
			o.Axis, o.Arguments = policy.AxisProcess, words[3:]
		case "http", "https", "tcp", "connect":
			o.Axis, o.Operation, o.Scheme = policy.AxisNet, "connect", strings.TrimPrefix(o.Operation, "connect")
			if strings.HasPrefix(o.Target, "/") {
				o.Axis = policy.AxisIPC
			}
		case "resolve":
			o.Axis = policy.AxisNet
		}
		all = append(all, o)
		at = at.Add(time.Second)
	}
	return all
}

// TestServers holds what is learned of typical servers: see testdata.
func TestServers(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) < 10 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, _ := os.ReadFile(file)
			asked, want, _ := strings.Cut(string(text), "\n----\n")
			head, lines, _ := strings.Cut(asked, "\n\n")
			h := newHost()
			in := h.input(t, seen(lines)...)
			for line := range strings.Lines(head) {
				switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
				case "env":
					in.Variables.Granted = strings.Fields(value)
				case "preset":
					in.Variables.Preset = strings.Fields(value)
				case "mentioned":
					in.Variables.Mentioned = strings.Fields(value)
				case "stateless":
					in.Stateless = Stateless{Able: true, Why: value, Observations: in.Observations}
				case "stateful":
					in.Stateless = Stateless{Why: value}
				}
			}
			in.Variables.Withheld = []string{"API_KEY", "OTHER"}
			r := Learn(in)
			got := string(r.TOML())
			if os.Getenv("MCPJAIL_UPDATE") != "" {
				os.WriteFile(file, []byte(asked+"\n----\n"+got), 0o644)
			} else if got != want {
				t.Errorf("%s\nnot\n%s", got, want)
			}
			h.check(t, in, r)
		})
	}
}

// TestOtherTools: a tool's table has what processes did that had one call each, and nothing that a process did which
// had calls of other tools, too.
func TestOtherTools(t *testing.T) {
	read := func(path, tool string) policy.Observation {
		return policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: path, Tool: tool}
	}
	h := newHost()
	// In the shared process, b begins to read the notes, and the call of a is under way when it does.
	in := h.input(t, read("/home/u/proj/README.md", "a"), read("/home/u/notes/a.md", "a"))
	in.Stateless = Stateless{Able: true, Workspace: "~/proj", Observations: []policy.Observation{read("/home/u/proj/README.md", "a"), read("/home/u/notes/a.md", "b")}}
	r := Learn(in)
	s := r.Server()
	if r.Stateful || s.Workspace != "~/proj" || len(s.Tools) != 3 {
		t.Fatalf("%s", r.TOML())
	}
	for tool, want := range map[string]string{config.AnyTool: "", "a": "README.md", "b": "~/notes/a.md"} {
		var got []string
		for _, rule := range s.Tools[tool].Access.Fs {
			got = append(got, rule.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
	if decoded, err := config.Decode(r.TOML(), "learned"); err != nil || decoded.Servers[s.Name].Workspace != "~/proj" {
		t.Errorf("%v\n%s", err, r.TOML())
	}
}

// TestVerdictOfTables: the verdict has the rights of all tables, also where one has less.
func TestVerdictOfTables(t *testing.T) {
	in := newHost().input(t)
	in.Stateless = Stateless{Able: true, Observations: []policy.Observation{
		{Axis: policy.AxisFs, Operation: "list", Target: "/home/u/proj"},
		{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/proj/new.md", Tool: "write"},
	}}
	r := Learn(in)
	if v := r.Verdict(); !strings.Contains(v, "writes the workspace") {
		t.Errorf("%s\n%s", v, r.TOML())
	}
	if rule := r.Server().Tools[config.AnyTool].Access.Fs; len(rule) != 1 || rule[0].Create {
		t.Errorf("%+v", rule)
	}
}
