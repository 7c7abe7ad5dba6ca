package resolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

const aServer = "[servers.s]\ncommand = \"server\"\n"

// fsRules returns the configuration with rules written as "PATH:RIGHTS", with the letters
// r, c, u, d, x, and w for write. "PATH:" denies all, and "PATH:-w" denies writing.
func fsRules(specs ...string) string { return aServer + "[servers.s.access]\n" + fsTables(specs...) }

// fsTables returns the tables of fsRules alone.
func fsTables(specs ...string) string {
	var b strings.Builder
	for _, s := range specs {
		i := strings.LastIndexByte(s, ':')
		b.WriteString("[[servers.s.access.fs]]\npath = " + show.TOML(s[:i]) + "\n")
		switch s[i+1:] {
		case "":
			b.WriteString("deny = true\n")
			continue
		case "-w":
			b.WriteString("deny = \"write\"\n")
			continue
		}
		for _, c := range s[i+1:] {
			b.WriteString(map[rune]string{'r': "read", 'c': "create", 'u': "update", 'd': "delete", 'x': "execute", 'w': "write"}[c] + " = true\n")
		}
	}
	return b.String()
}

func TestRulesFail(t *testing.T) {
	files := newFake(aSystem, `
		l /home/u/proj/out /home/u/other
		l /home/u/proj/secret data/keys
		d /home/u/proj/data/keys
		l /home/u/proj/loop loop2
		l /home/u/proj/loop2 loop
		d /home/u/other
		f /home/u/proj/tasks/.vscode/x
		f /home/u/proj/tasks/.env
		f /home/u/proj/file`)
	tests := []struct{ name, toml, want string }{
		{"dots", fsRules("../x:r"), `c.toml:4: path = "../x": leaves the workspace /home/u/proj (it is /home/u/x)`},
		{"hidden dots", fsRules("a/../../proj2:r"), `c.toml:4: path = "a/../../proj2": leaves the workspace`},
		{"link", fsRules("out:r"), `path = "out": leaves the workspace /home/u/proj through a symbolic link (/home/u/proj/out -> /home/u/other)`},
		{"below a link", fsRules("out/x:r"), `leaves the workspace /home/u/proj through a symbolic link`},
		{"a link that the server could turn elsewhere", fsRules(".:rw", "/home/u/proj/out:r"), `c.toml:8: path = "/home/u/proj/out": leads through the symbolic link /home/u/proj/out (-> /home/u/other), which the server could replace (c.toml:4: path = "."): if that link is yours, write the path that is meant, /home/u/other; if not, remove it`},
		{"a workspace that the server could turn elsewhere", strings.Replace(fsRules(".:r", "/home/u/proj:rw"), "\n", "\nworkspace = \"out\"\n", 1), `path = ".": leads through the symbolic link /home/u/proj/out (-> /home/u/other)`},
		{"a link that the server could remove", fsRules(".:rd", "secret:"), `path = "secret", deny = true: leads through the symbolic link /home/u/proj/secret (-> data/keys), which the server could replace`},
		{"loop", fsRules("loop:r"), `path = "loop": too many symbolic links`},
		{"workspace missing", aServer + "workspace = \"nowhere\"", `c.toml:1: the workspace "nowhere" does not exist (/home/u/proj/nowhere)`},
		{"workspace is a file", aServer + "workspace = \"file\"", `the workspace "file" is not a directory`},
		{"some of the write rights inside a protected name", fsRules(".:rw", "tasks/.vscode:rcu"), `c.toml:8: path = "tasks/.vscode" (read create update) cannot be enforced inside c.toml:4: path = "." (read write): no rule from above gives rights at such a name, and there a mount can only hide a path, make it read-only or leave it as it is. Grant delete there too, or nothing of create, update and delete.`},
		{"writing alone inside a sensitive path", fsRules(".:rw", "tasks/.env:w"), `Grant read there too, or nothing of create, update and delete.`},
		{"nothing", aServer + "[[servers.s.access.fs]]\npath = \"src\"\n", `c.toml:3: servers.s.access.fs: path = "src" says nothing. A rule grants rights or takes them away: to hide this path, write deny = true; otherwise remove the rule`},
		{"fewer rights", fsRules("~/proj:rw", "~/proj/data:r"), `c.toml:8: path = "~/proj/data" (read) takes nothing away from c.toml:4: path = "~/proj" (read write), because rights add up. To keep the server from changing it, write deny = "write" in place of read = true; to hide it, deny = true; otherwise remove the rule.`},
		{"inside a denial", fsRules("~/proj/data:", "~/proj/data/keys:r"), `c.toml:7: path = "~/proj/data/keys" (read) grants nothing: c.toml:4: path = "~/proj/data" denies it. Remove one of the two.`},
		{"the path of a denial", fsRules("data:", "data:r"), `c.toml:7: path = "data" (read) grants nothing: c.toml:4: path = "data" denies it.`},
		{"writing inside a denial of that", fsRules(".:r", "data:-w", "data/keys:w"), `c.toml:10: path = "data/keys" (write) does not grant write: c.toml:7: path = "data" denies it.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := resolveFake(t, files, tt.toml)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("\n got %v\nwant %s", err, tt.want)
			}
		})
	}
	for _, warned := range []string{
		fsRules("~/proj:rw", "/data/in:r"), // through a link
		fsRules("data:rw", "data/keys:rw"), // the same rights
	} {
		if _, ws := mustResolve(t, newFake(aSystem, "d /home/u/proj/data/keys\nl /data/in /home/u/proj/data"), warned); codes(ws) != "useless-rule" {
			t.Errorf("%s: %v", warned, ws)
		}
	}
}

func TestEqualRulesAddUp(t *testing.T) {
	h := newFake(aSystem, "d /home/u/proj/src\nl /home/u/proj/same src")
	for toml, want := range map[string]policy.Rights{
		fsRules("src:r", "src:rw"):                  policy.Read | policy.Write,
		fsRules("src:rw", "src:r"):                  policy.Read | policy.Write,
		fsRules("src:rx", "src:rw"):                 policy.AllRights,
		fsRules("src:w", "same:r"):                  policy.Read | policy.Write,
		fsRules("src:w", "~/proj/src:r"):            policy.Read | policy.Write,
		fsRules(".:rw", "./src/.:"):                 0,
		fsRules(".:rw", "./src/.:-w"):               policy.Read,
		fsRules("/home/u/proj/src:r", "src:rw"):     policy.Read | policy.Write,
		fsRules("/home/u/proj//src/../src:", "a:r"): 0,
	} {
		p, _ := mustResolve(t, h, toml)
		if got := p.RightsAt("/home/u/proj/src"); got != want {
			t.Errorf("%s: %s, want %s", toml, got, want)
		}
	}
}

func TestMissingPaths(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/file\n0 /home/u/locked")
	p, ws := mustResolve(t, h, fsRules("a:r", "b/:rw", "c/:r", "file/:r", "file/x:r", "~/locked/x:r", "deep/er/:rw"))
	if got, want := codes(ws), "missing-path missing-path not-a-directory missing-path missing-path"; got != want {
		t.Errorf("warnings %s, want %s\n%v", got, want, ws)
	}
	if !strings.Contains(ws[4].Message, "permission denied") {
		t.Errorf("no reason: %s", ws[4])
	}
	for path, want := range map[string]bool{"/home/u/proj/a": false, "/home/u/proj/b": true, "/home/u/proj/c": false, "/home/u/proj/file": false, "/home/u/proj/deep/er": true} {
		e, ok := p.Find(path)
		if ok != want || ok && !e.Make {
			t.Errorf("%s: %+v, %v", path, e, ok)
		}
	}
	// Two rules for a directory that would be made.
	if p, _ := mustResolve(t, h, fsRules("out/:rw", "out:r")); p.RightsAt("/home/u/proj/out") != policy.Read|policy.Write {
		t.Errorf("out: %s", p.RightsAt("/home/u/proj/out"))
	}
	// A denial of a path that does not exist yet must hold when the path is created.
	p, _ = mustResolve(t, h, fsRules(".:rw", "secret:", "ro:-w"))
	for _, path := range []string{"/home/u/proj/secret", "/home/u/proj/ro"} {
		if p.Allows(policy.OpCreate, path) || p.Allows(policy.OpMkdir, path) || policytest.AllowsRename(p, "/home/u/proj/file", path) {
			t.Errorf("%s can be created", path)
		}
	}
	if !p.Allows(policy.OpCreate, "/home/u/proj/other") {
		t.Error("nothing can be created")
	}
}

func TestBaselineUnion(t *testing.T) {
	h := newFake(aSystem, "d /usr/share/doc")
	p, _ := mustResolve(t, h, fsRules("/:rw"))
	if got := p.RightsAt("/usr/bin/x"); got != policy.AllRights {
		t.Errorf("a wider rule and the baseline: %s", got)
	}
	p, _ = mustResolve(t, h, fsRules("/:rw", "/usr:"))
	if got := p.RightsAt("/usr/bin/x"); got != policy.Read|policy.Execute {
		t.Errorf("a denial of the baseline: %s", got)
	}
	p, _ = mustResolve(t, h, fsRules("/usr:r"))
	if e, _ := p.Find("/usr/bin"); e.Origin != policy.OriginRule || e.Rights != policy.Read|policy.Execute || e.Added != policy.Execute {
		t.Errorf("what the baseline adds to a rule: %+v", e)
	}
	p, _ = mustResolve(t, h, fsRules("/usr/share:"))
	if p.RightsAt("/usr/share/doc") != 0 || p.RightsAt("/usr/bin") != policy.Read|policy.Execute {
		t.Errorf("a denial inside the baseline: %s", p.RightsAt("/usr/share/doc"))
	}
	for _, path := range []string{"/etc/hosts", "/etc/shadow", "/etc", "/", "/home", "/tmp"} {
		if p.RightsAt(path) != 0 {
			t.Errorf("%s is visible", path)
		}
	}
}

func TestResolveChecksPolicy(t *testing.T) {
	for want, p := range map[string]*policy.Policy{
		"user info":       {Server: "s", Command: "server", Net: []policy.NetRule{{Host: "a@b"}}},
		"needs a port":    {Server: "s", Command: "server", Net: []policy.NetRule{{Host: "a", Scheme: "tcp"}}},
		"the path is emp": {Server: "s", Command: "server", Fs: []policy.FsRule{{}}},
		"one trailing":    {Server: "s", Command: "server", Env: []policy.EnvRule{{Name: "a*b"}}},
		"server name":     {Server: "../x", Command: "server"},
		"is empty":        {Server: "s"},
	} {
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	h := newFake(aSystem).host()
	h.OS, h.Home = "plan9", "#home"
	if _, _, err := Resolve(&policy.Policy{Server: "s", Command: "server"}, h); !errors.Is(err, ErrPlatform) {
		t.Errorf("plan9: %v", err)
	}
}

func TestNetRuleProblems(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"host = \"*\"\nmethods = [\"GET\"]\nallow = true", "TLS is terminated only for hosts that a rule names"},
		{"host = \"*\"\npath_prefix = \"/x\"\nallow = false", "TLS is terminated only for hosts that a rule names"},
		{"host = \"*\"\nsecret = { env = \"T\" }\nallow = true", "TLS is terminated only for hosts that a rule names"},
		{"host = \"*\"\nscheme = \"http\"\nmethods = [\"GET\"]\nallow = true", ""},
		{"host = \"*.a\"\nsecret = { env = \"T\" }\nallow = true", ""},
		{"host = \"a\"\nsecret = { env = \"T\" }\nallow = false", "allow = true is missing"},
		{"host = \"a\"\nscheme = \"http\"\nsecret = { env = \"T\" }\nallow = true", `scheme = "http" would send the secret unencrypted`},
		{"host = \"a\"\nscheme = \"tcp\"\nport = 5432\nsecret = { env = \"T\" }\nallow = true", `scheme = "tcp" would send the secret unencrypted`},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"U\", file = \"~/u\" }]\nallow = true", ""},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"T\" }]\nallow = true", "secret: T is listed twice"},
		{"host = \"a\"\nsecret = { file = \"~/t\" }\nallow = true", "net.secret.env: servers.s.access.net.secret has no env"},
		{"host = \"a\"\nsecret = { env = \"\" }\nallow = true", "net.secret.env is empty"},
		{"host = \"a\"\nsecret = { env = \"T-X\" }\nallow = true", `env = "T-X": a secret's variable has letters`},
		{"host = \"a\"\nsecret = { env = \"PATH\" }\nallow = true", `env = "PATH": no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"LD_PRELOAD\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"MCP_JAIL_POLICY\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"~/t\", command = [\"x\"] }\nallow = true", "the secret T has a file and a command"},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"t\" }\nallow = true", `file = "t": write it as an absolute path or with ~/`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"/x/[t]\" }\nallow = true", `without wildcards`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [] }\nallow = true", "servers.s.access.net.secret.command is empty"},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"./x\"] }\nallow = true", `command "./x": write the program as a name in PATH`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"op\", \"a\\u0000\"] }\nallow = true", "the command of the secret T contains a NUL"},
		{"host = \"a\"\nsecret = { env = \"T\", from = \"x\" }\nallow = true", "net.secret.from is not a known key"},
		{"host = \"a\"\nsecret = \"T\"\nallow = true", "net.secret must be a table, not a string"},
		{"host = \"a\"\nport = 53\nallow = true", "port 53 is for names"},
		{"host = \"a\"\nport = 53\nallow = false", ""},
		{"host = \"239.255.255.250\"\nallow = true", "only TCP is supported"},
		{"host = \"ff02::fb\"\nallow = true", "only TCP is supported"},
		{"host = \"255.255.255.255\"\nallow = true", "only TCP is supported"},
		{"host = \"239.255.255.250\"\nallow = false", ""},
		{"host = \"a\"\nmethods = [\"M-SEARCH\"]\nallow = true", ""},
		{"host = \"a\"\nmethods = [\"GET /\"]\nallow = true", `"GET /" is not a method`},
	} {
		_, err := config.Decode([]byte("[servers.s]\ncommand = \"x\"\n[[servers.s.access.net]]\n"+tt.rule+"\n"), "f")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s\n got %v\nwant %s", tt.rule, err, tt.want)
		}
	}
	// A policy that was not decoded from a file is refused in the same way.
	for _, r := range []policy.NetRule{
		{Host: "a", Methods: []string{"get"}, Allow: true},
		{Host: "a", Secrets: []policy.Secret{{Env: "T"}}},
		{Host: "a", Secrets: []policy.Secret{{Env: "T", Command: []string{}}}, Allow: true},
	} {
		p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"server"}, Net: []string{"b"}})
		testkit.Must(t, err)
		if _, _, err := Resolve(p, newFake(aSystem).host()); err != nil {
			t.Fatal(err)
		}
		p.Net = append(p.Net, r)
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes %+v", r)
		}
	}
}

func TestInbound(t *testing.T) {
	policyOf := func(rules string) (*policy.Policy, error) {
		return decoded(t, "[servers.s]\ncommand = \"server\"\n"+rules).Policy("s", "")
	}
	rule := func(n int) string { return fmt.Sprintf("[[servers.s.access.inbound]]\nport = %d\n", n) }
	p, err := policyOf(rule(8080) + rule(3334) + rule(8080))
	testkit.Must(t, err)
	profile, _, err := Resolve(p, newFake(aSystem).host())
	if err != nil || !slices.Equal(profile.Inbound, []int{3334, 8080}) {
		t.Errorf("%v, %v", profile.Inbound, err)
	}
	many := ""
	for i := range 65 {
		many += rule(3000 + i)
	}
	out := "[[servers.s.access.net]]\nhost = \"localhost\"\nport = 3334\n"
	for rules, want := range map[string]string{
		rule(3334) + out + "allow = true\n": "f:3: inbound: port 3334 leads to localhost as well (f:5)",
		rule(443) + "[[servers.s.access.net]]\nhost = \"a\"\nscheme = \"https\"\nallow = true\n": "port 443 leads to a as well",
		rule(3334) + out + "allow = false\n":                                                     "",
		rule(53) + out + "allow = true\n":                                                        "port 53 is where names are looked up as well (f:5)",
		rule(53) + out + "allow = false\n":                                                       "",
		many:                                                                                     "inbound: 65 ports; more than 64 are refused",
	} {
		if _, err := policyOf(rules); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
	for _, port := range []int{0, -1, 65536} {
		p.Inbound = []policy.InboundRule{{Port: port, Where: "here"}}
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes port %d", port)
		}
	}
}

// The value of a secret is in no printed form of a profile.
func TestProfileJSON(t *testing.T) {
	p, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n")
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "ghp_x") || !strings.Contains(string(text), `"name":"GH_TOKEN","secret":true`) {
		t.Errorf("%s, %v", text, err)
	}
	q, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "GH_TOKEN=other") })
	if p.Key() != q.Key() || p.SameJail(q) {
		t.Error("a secret's value is in Key, or not in Equal")
	}
	r, _ := mustResolve(t, newFake(aSystem), aServer)
	if p.Key() == r.Key() {
		t.Error("two policies, one Key")
	}
}
