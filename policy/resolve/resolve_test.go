package resolve

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

const aServer = "[servers.s]\ncommand = \"server\"\n"

// fsRules writes rules as "PATH:RIGHTS" with the letters r, c, u, d, x and w for
// write.
func fsRules(specs ...string) string {
	var b strings.Builder
	b.WriteString(aServer + "[servers.s.access]\n")
	for _, s := range specs {
		i := strings.LastIndexByte(s, ':')
		b.WriteString("[[servers.s.access.fs]]\npath = " + policy.QuoteTOML(s[:i]) + "\n")
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
		f /home/u/proj/file`)
	tests := []struct{ name, toml, want string }{
		{"dots", fsRules("../x:r"), `c.toml:4: path = "../x": leaves the workspace /home/u/proj (it is /home/u/x)`},
		{"hidden dots", fsRules("a/../../proj2:r"), `c.toml:4: path = "a/../../proj2": leaves the workspace`},
		{"link", fsRules("out:r"), `path = "out": leaves the workspace /home/u/proj through a symbolic link (/home/u/proj/out -> /home/u/other)`},
		{"below a link", fsRules("out/x:r"), `leaves the workspace /home/u/proj through a symbolic link`},
		{"a link that the server could turn elsewhere", fsRules(".:rw", "/home/u/proj/out:r"), `c.toml:8: path = "/home/u/proj/out": leads through the symbolic link /home/u/proj/out (-> /home/u/other), which the server could replace (c.toml:4: path = "."): if that link is yours, write the path that is meant, /home/u/other; if not, remove it`},
		{"a workspace that the server could turn elsewhere", strings.Replace(fsRules(".:r", "/home/u/proj:rw"), "\n", "\nworkspace = \"out\"\n", 1), `path = ".": leads through the symbolic link /home/u/proj/out (-> /home/u/other)`},
		{"a link that the server could remove", fsRules(".:rd", "secret:"), `path = "secret": leads through the symbolic link /home/u/proj/secret (-> data/keys), which the server could replace`},
		{"loop", fsRules("loop:r"), `path = "loop": too many symbolic links`},
		{"workspace missing", aServer + "workspace = \"nowhere\"", `c.toml:1: the workspace "nowhere" does not exist (/home/u/proj/nowhere)`},
		{"workspace is a file", aServer + "workspace = \"file\"", `the workspace "file" is not a directory`},
		{"conflict", fsRules(".:rw", "src:rcu"), `c.toml:8: path = "src" (read create update) cannot be enforced below c.toml:4: path = "." (read write)`},
		{"conflict by link", fsRules(".:rw", "/home/u/proj/../proj/src/:rcu"), `cannot be enforced`},
		{"write only", fsRules(".:rw", "src:w"), `it would have to take away read and keep write`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := resolveFake(t, files, tt.toml)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("\n got %v\nwant %s", err, tt.want)
			}
		})
	}
	_, _, err := resolveFake(t, files, fsRules(".:rw", "src:rcu"))
	var ce *policy.ConflictError
	if !errors.As(err, &ce) || ce.Lost != policy.Delete || ce.Keep != policy.Read|policy.Create|policy.Update {
		t.Errorf("ConflictError: %+v", ce)
	}
	if !strings.Contains(err.Error(), "give the narrower rule delete too, take all of create, update and delete from it (then it is read-only), or take delete from the wider one") {
		t.Errorf("no way out: %v", err)
	}
}

func TestLastOfEqualRulesWins(t *testing.T) {
	h := newFake(aSystem, "d /home/u/proj/src\nl /home/u/proj/same src")
	for toml, want := range map[string]policy.Rights{
		fsRules("src:r", "src:rw"):                  policy.Read | policy.Write,
		fsRules("src:rw", "src:r"):                  policy.Read,
		fsRules("src:rw", "./src/.:"):               0,
		fsRules("src:rw", "same:r"):                 policy.Read,
		fsRules("src:rw", "~/proj/src:r"):           policy.Read,
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
	// The last of two rules decides, also about what is going to be made.
	if p, _ := mustResolve(t, h, fsRules("out/:rw", "out:r")); p.RightsAt("/home/u/proj/out") != 0 {
		t.Errorf("out: %s", p.RightsAt("/home/u/proj/out"))
	}
	// "removing a rule never widens": a narrower rule for a path that does not
	// exist yet must not be undone by creating it.
	p, _ = mustResolve(t, h, fsRules(".:rw", "secret:", "ro:r"))
	for _, path := range []string{"/home/u/proj/secret", "/home/u/proj/ro"} {
		if p.Allows(policy.OpCreate, path) || p.Allows(policy.OpMkdir, path) || p.AllowsRename("/home/u/proj/file", path) {
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
	p, _ = mustResolve(t, h, fsRules("/usr:"))
	if got := p.RightsAt("/usr/bin/x"); got != policy.Read|policy.Execute {
		t.Errorf("an equal rule and the baseline: %s", got)
	}
	p, _ = mustResolve(t, h, fsRules("/usr/share:"))
	if p.RightsAt("/usr/share/doc") != 0 || p.RightsAt("/usr/bin") != policy.Read|policy.Execute {
		t.Errorf("a narrower rule stands alone: %s", p.RightsAt("/usr/share/doc"))
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
	h.OS = "windows"
	if _, _, err := Resolve(&policy.Policy{Server: "s", Command: "server"}, h); !errors.Is(err, ErrPlatform) {
		t.Errorf("windows: %v", err)
	}
}
