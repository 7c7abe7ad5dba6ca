package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

const aServer = "[servers.s]\ncommand = \"server\"\n"

// fsRules writes rules as "PATH:RIGHTS" with the letters r, c, u, d, x and w for
// write.
func fsRules(specs ...string) string {
	var b strings.Builder
	b.WriteString(aServer + "[servers.s.access]\n")
	for _, s := range specs {
		i := strings.LastIndexByte(s, ':')
		b.WriteString("[[servers.s.access.fs]]\npath = " + tomlString(s[:i]) + "\n")
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
		{"a link that the server could turn elsewhere", fsRules(".:rw", "/home/u/proj/out:r"), `c.toml:8: path = "/home/u/proj/out": leads through the symbolic link /home/u/proj/out (-> /home/u/other), which the server could replace (c.toml:4: path = "."): write the path that is meant, /home/u/other`},
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
	var ce *ConflictError
	if !errors.As(err, &ce) || ce.Lost != Delete || ce.Keep != Read|Create|Update {
		t.Errorf("ConflictError: %+v", ce)
	}
	if !strings.Contains(err.Error(), "give the narrower rule delete too, take all of create, update and delete from it (then it is read-only), or take delete from the wider one") {
		t.Errorf("no way out: %v", err)
	}
}

func TestUnenforceable(t *testing.T) {
	for _, tt := range []struct{ union, rights, want Rights }{
		{Read | Write, 0, 0},
		{Read | Write, Read, 0},
		{AllRights, Read | Write, 0},
		{AllRights, Read | Execute, 0},
		{Read, AllRights, 0},
		{Read | Write, Read | Create | Update, Delete},
		{Read | Write, Write, Read},
		{Read | Execute, Execute, Read},
		{Read | Delete, Read | Create, Delete},
		{Read | Create, Read | Create | Delete, 0},
		{0, Create, 0},
	} {
		if got := unenforceable(tt.union, tt.rights); got != tt.want {
			t.Errorf("unenforceable(%s, %s) = %s, want %s", tt.union, tt.rights, got, tt.want)
		}
	}
	// A mask in between does not reset what Landlock adds up.
	if _, _, err := resolveFake(t, newFake(aSystem, "d /home/u/proj/a/b"), fsRules(".:rw", "a:", "a/b:rc")); err == nil {
		t.Error("a grant below a mask forgot the grant above it")
	}
	if _, _, err := resolveFake(t, newFake(aSystem, "d /home/u/proj/a/b/c"), fsRules(".:r", "a:rd", "a/b:", "a/b/c:rc")); err == nil {
		t.Error("only the widest grant was asked")
	}
	// Adding back below a read-only part is fine.
	mustResolve(t, newFake(aSystem, "d /home/u/proj/a/b/c"), fsRules(".:rw", "a:r", "a/b:rw", "a/b/c:"))
}

func TestLastOfEqualRulesWins(t *testing.T) {
	h := newFake(aSystem, "d /home/u/proj/src\nl /home/u/proj/same src")
	for toml, want := range map[string]Rights{
		fsRules("src:r", "src:rw"):                  Read | Write,
		fsRules("src:rw", "src:r"):                  Read,
		fsRules("src:rw", "./src/.:"):               0,
		fsRules("src:rw", "same:r"):                 Read,
		fsRules("src:rw", "~/proj/src:r"):           Read,
		fsRules("/home/u/proj/src:r", "src:rw"):     Read | Write,
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
		if p.Allows(OpCreate, path) || p.Allows(OpMkdir, path) || p.AllowsRename("/home/u/proj/file", path) {
			t.Errorf("%s can be created", path)
		}
	}
	if !p.Allows(OpCreate, "/home/u/proj/other") {
		t.Error("nothing can be created")
	}
}

func TestUnsafeWorkspace(t *testing.T) {
	h := newFake(aSystem, `d /home/u/.config/mcp-jail
		d /home/u/.ssh/x
		d /var/www/site
		d /usr/src/app
		d /etc/x
		l /home/u/sneaky /
		d /home/u/.local/state/mcp-jail/servers
		d /home/u/.cache/mcp-jail/catalog
		d /home/u/.cache/other`)
	for dir, safe := range map[string]bool{
		"/": false, "/home/u": false, "/home": false, "/usr": false, "/usr/bin": false, "/etc/x": false, "/tmp": false, "/home/u/sneaky": false,
		"/home/u/.config/mcp-jail": false, "/home/u/.config": false, "/home/u/.local": false, "/home/u/.local/state/mcp-jail/servers": false, "/home/u/.cache": false, "/home/u/.cache/mcp-jail/catalog": false, "/home/u/.ssh": false, "/home/u/.ssh/x": false,
		"/home/u/proj": true, "/var/www/site": true, "/usr/src/app": true, "/home/u/.cache/other": true,
	} {
		p, ws := mustResolve(t, h, aServer, func(h *Host) { h.Dir = dir })
		if got := p.Workspace != "" && p.RightsAt(p.Workspace).Has(Read|Write); got != safe {
			t.Errorf("%s: granted %v, want %v", dir, got, safe)
		}
		if safe {
			continue
		}
		if codes(ws) != "no-workspace" || !strings.Contains(ws[0].Message, "--workspace") {
			t.Errorf("%s: warnings %v", dir, ws)
		}
		if p.Dir != p.Home || !p.HomePrivate {
			t.Errorf("%s: starts in %s", dir, p.Dir)
		}
	}
	p, ws := mustResolve(t, newFake(aSystem, "d /data/homes/u"), aServer, func(h *Host) { h.Dir, h.Home = "/data/homes", "/data/homes/u" })
	if p.Workspace != "" || !strings.Contains(ws[0].Message, "holds the home directory") {
		t.Errorf("an ancestor of home: %v", ws)
	}
	// With an access table it is a place like others.
	p, _ = mustResolve(t, h, fsRules(".:r"), func(h *Host) { h.Dir = "/home/u" })
	if p.RightsAt("/home/u/x") != Read || p.RightsAt("/home/u/.ssh/x") != 0 || p.Dir != "/home/u" {
		t.Errorf("explicit rule: %s", printProfile(p))
	}
	// A working directory that is gone is no error when nobody named it.
	if p, ws := mustResolve(t, h, aServer, func(h *Host) { h.Dir = "/gone" }); p.Workspace != "" || codes(ws) != "no-workspace" {
		t.Errorf("gone: %v", ws)
	}
}

func TestSensitive(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.ssh/id
		f /home/u/.ssh/known_hosts
		f /home/u/.sshfoo/x
		l /home/u/notes .ssh
		f /home/u/proj/.env
		f /home/u/proj/.env.local
		f /home/u/proj/.env.example
		f /home/u/proj/.env.sample
		f /home/u/proj/.env.template
		f /home/u/proj/.environment
		f /home/u/proj/deep/er/.env/inside
		f /home/u/proj/config/prod.env
		l /home/u/proj/linked/.env ../config/prod.env
		f /home/u/proj/keys/a.pem
		f /home/u/proj/node_modules/x/.env
		d /data/aws
		l /home/u/.aws /data/aws`)
	at := func(p *Profile, path string, want Rights) {
		t.Helper()
		if got := p.RightsAt(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	p, ws := mustResolve(t, h, fsRules("~:r", "/data:r"))
	for _, path := range []string{"/home/u/.ssh/id", "/home/u/proj/.env", "/home/u/proj/.env.local", "/home/u/proj/deep/er/.env/inside", "/home/u/proj/config/prod.env", "/home/u/proj/node_modules/x/.env", "/data/aws/credentials"} {
		at(p, path, 0)
	}
	for _, path := range []string{"/home/u/.sshfoo/x", "/home/u/proj/.env.example", "/home/u/proj/.env.sample", "/home/u/proj/.env.template", "/home/u/proj/.environment", "/home/u/proj/keys/a.pem", "/data/x"} {
		at(p, path, Read)
	}
	if len(ws) != 0 {
		t.Errorf("warnings %v", ws)
	}
	// A hostile name hides nothing that the server needs.
	if p, _ := mustResolve(t, newFake(aSystem, "l /home/u/proj/.env /usr/bin/node"), aServer); p.RightsAt("/usr/bin/node") != Read|Execute {
		t.Errorf("node: %s", p.RightsAt("/usr/bin/node"))
	}
	// A proc or sysfs that is mounted in a grant, as below a container's root.
	chroot := newFake(aSystem, "f /home/u/proj/root/proc/sys/kernel/core_pattern\nf /home/u/proj/root/etc/passwd")
	mounted := func(h *Host) { h.KernelPlaces = []string{"/home/u/proj/root/proc", "/elsewhere/proc"} }
	p, _ = mustResolve(t, chroot, aServer, mounted)
	at(p, "/home/u/proj/root/proc/sys/kernel/core_pattern", 0)
	at(p, "/home/u/proj/root/etc/passwd", Read|Write)
	p, ws = mustResolve(t, chroot, fsRules(".:rw", "root/proc:r"), mounted)
	at(p, "/home/u/proj/root/proc/sys", Read)
	if codes(ws) != "sensitive-granted" {
		t.Errorf("warnings %v", ws)
	}
	// Without the link the next start would not find what it leads to.
	for _, rights := range []string{"r", "rw"} {
		p, _ := mustResolve(t, h, fsRules("~:"+rights))
		at(p, "/home/u/proj/config/prod.env", 0)
		if e, ok := p.Find("/home/u/proj/linked/.env"); ok && (e.Path == "/home/u/proj/linked/.env") != (rights == "rw") || p.Allows(OpRemove, "/home/u/proj/linked/.env") {
			t.Errorf("%s: the link is held by %+v", rights, e)
		}
	}
	// What lies inside is granted by name; the rest stays hidden.
	p, ws = mustResolve(t, h, fsRules("~:r", "~/.ssh/known_hosts:r", ".env:r"))
	at(p, "/home/u/.ssh/known_hosts", Read)
	at(p, "/home/u/.ssh/id", 0)
	at(p, "/home/u/proj/.env", Read)
	at(p, "/home/u/proj/.env.local", 0)
	if codes(ws) != "sensitive-granted sensitive-granted" || !strings.Contains(ws[0].Message, "the server will be able to read /home/u/.ssh/known_hosts") {
		t.Errorf("warnings %v", ws)
	}
	// A name that leads there does not name it.
	p, ws = mustResolve(t, h, fsRules("~/notes:r"))
	at(p, "/home/u/.ssh/id", 0)
	if codes(ws) != "sensitive-masked" {
		t.Errorf("warnings %v", ws)
	}
	// The user's own list adds.
	p, _ = mustResolve(t, h, strings.Replace(fsRules(".:r"), "access]\n", "access]\nsensitive_paths = [\"**/*.pem\", \"config\", \"**/deep/er\", \"/home/u/proj/.environment\"]\n", 1))
	for _, path := range []string{"keys/a.pem", "config/prod.env", "deep/er/x", ".environment"} {
		at(p, "/home/u/proj/"+path, 0)
	}
	at(p, "/home/u/proj/deep/x", Read)
	// Absent ones must not come into being.
	p, _ = mustResolve(t, h, fsRules("~:rw"))
	if p.Allows(OpMkdir, "/home/u/.gnupg") || !p.Allows(OpMkdir, "/home/u/.gnupgx") {
		t.Error("~/.gnupg can be made")
	}
}

func TestProtected(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/.git/config
		f /home/u/proj/.git/hooks/pre-commit
		f /home/u/proj/.git/HEAD
		f /home/u/proj/young/.git/HEAD
		f /home/u/proj/sub/.git/config
		f /home/u/proj/.vscode/tasks.json
		f /home/u/proj/a/b/.envrc
		d /home/u/proj/.github/workflows
		l /home/u/proj/.cursor shared
		f /home/u/proj/shared/mcp.json
		f /home/u/repo/.git/config
		d /home/u/repo/.git/hooks
		f /home/u/repo/.git/worktrees/w/commondir ../..\n
		f /home/u/repo/.git/worktrees/w/gitdir /home/u/w/.git\n
		f /home/u/w/.git gitdir: /home/u/repo/.git/worktrees/w\n
		f /home/u/w/x
		f /home/u/proj/mod/.git gitdir: ../.git/modules/mod\n
		f /home/u/proj/.git/modules/mod/config
		d /home/u/proj/.git/modules/mod/hooks
		f /home/u/proj/.git/config.worktree
		f /home/u/proj/.git/modules/lib/away/HEAD
		f /home/u/proj/.git/modules/lib/away/config
		f /home/u/proj/.git/worktrees/far/commondir ../..\n
		f /home/u/proj/.git/worktrees/far/HEAD`)
	p, _ := mustResolve(t, h, aServer)
	for _, path := range []string{".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "a/b/.envrc", ".github/workflows/x", "shared/mcp.json", "sub/.git/config", "mod/.git", ".git/modules/mod/config", ".git/modules/mod/hooks/x",
		".git/config.worktree", ".git/modules/lib/away/config", ".git/worktrees/far/commondir"} {
		path = "/home/u/proj/" + path
		if !p.Allows(OpRead, path) || p.Allows(OpWrite, path) || p.Allows(OpTruncate, path) {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	for _, path := range []string{".git/hooks/new", ".vscode/new", ".mcp.json", ".cursor", ".husky", ".husky/x", "sub/.git/hooks", ".gitmodules", ".git/commondir", "sub/.git/commondir", ".git/worktrees/new/commondir", ".git/modules/new"} {
		if p.Allows(OpCreate, "/home/u/proj/"+path) {
			t.Errorf("%s can be made", path)
		}
	}
	for _, path := range []string{".git", ".git/hooks", ".vscode", "a", "a/b", ".github", "sub"} {
		path = "/home/u/proj/" + path
		if p.Allows(OpRemove, path) || p.AllowsRename(path, "/home/u/proj/elsewhere") || p.AllowsReplace("/home/u/proj/x", path) {
			t.Errorf("%s can be moved away", path)
		}
	}
	for _, path := range []string{".git/HEAD", ".git/index.lock", ".git/worktrees/far/HEAD", ".git/worktrees/new/HEAD", "a/b/c", ".github/x", "elsewhere/.gitx"} {
		path = "/home/u/proj/" + path
		if !p.Allows(OpCreate, path) || !p.Allows(OpWrite, path) || !p.Allows(OpRemove, path) {
			t.Errorf("%s is out of reach", path)
		}
	}
	if p.AllowsRename("/home/u/proj/x", "/home/u/proj/.husky") || p.AllowsRename("/home/u/proj/x", "/home/u/proj/sub/.git/hooks") {
		t.Error("a protected name can be renamed into being")
	}
	// "when a parent is renamed": the hooks of a moved repository are hooks.
	if p.AllowsRename("/home/u/proj/young", "/home/u/proj/old") || p.AllowsRename("/home/u/proj/young/.git", "/home/u/proj/x") {
		t.Error("a repository without hooks can be moved away")
	}
	// A worktree's hooks are in the repository that it belongs to.
	p, _ = mustResolve(t, h, fsRules("~/w:rw", "~/repo:rw"))
	for _, path := range []string{"/home/u/w/.git", "/home/u/repo/.git/config", "/home/u/repo/.git/hooks/x", "/home/u/repo/.git/worktrees/w/commondir"} {
		if p.RightsAt(path) != Read {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	// So are those of a bare repository, which no name gives away.
	bare := newFake(aSystem, `
		f /home/u/bare/config
		d /home/u/bare/hooks
		f /home/u/bare/worktrees/w/commondir ../..\n
		f /home/u/w/.git gitdir: /home/u/bare/worktrees/w\n`)
	p, _ = mustResolve(t, bare, fsRules("~/w:rw", "~/bare:rw"))
	for _, path := range []string{"/home/u/bare/config", "/home/u/bare/hooks/x"} {
		if p.RightsAt(path) != Read {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	// A rule for the name itself.
	p, _ = mustResolve(t, h, fsRules(".:rw", ".vscode:rw", ".git/hooks:rw", "a/b/.envrc:rw"))
	for _, path := range []string{".vscode/tasks.json", ".git/hooks/pre-commit", "a/b/.envrc"} {
		if !p.Allows(OpWrite, "/home/u/proj/"+path) {
			t.Errorf("%s is named and not granted", path)
		}
	}
	if p.Allows(OpWrite, "/home/u/proj/.git/config") {
		t.Error(".git/config is granted and not named")
	}
	// Nothing to protect in a grant without write.
	p, _ = mustResolve(t, h, fsRules(".:r"))
	if len(p.Unprotected) != 0 {
		t.Errorf("unprotected %v", p.Unprotected)
	}
	for _, e := range p.Entries {
		if e.Origin == OriginProtected {
			t.Errorf("%+v", e)
		}
	}
}

func TestOwnFilesAreProtected(t *testing.T) {
	h := newFake(aSystem, "x /home/u/bin/mcp-jail\nx /home/u/bin/mcp-jail-tls\nf /home/u/.config/mcp-jail/config.toml\nf /home/u/.codex/config.toml\nf /home/u/.claude.json")
	own := func(h *Host) { h.Executable = "/home/u/bin/mcp-jail" }
	p, _ := mustResolve(t, h, fsRules("~:rw", "~/.codex:rw"), own)
	for _, path := range []string{"/home/u/bin/mcp-jail", "/home/u/bin/mcp-jail-tls", "/home/u/.config/mcp-jail/config.toml", "/home/u/.codex/config.toml", "/home/u/.claude.json", "/home/u/.local/state/mcp-jail/trust.toml", "/home/u/.local/state/mcp-jail/servers/other/home/x"} {
		if p.Allows(OpWrite, path) || p.Allows(OpCreate, path) {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	for _, path := range []string{"/home/u/.local/state/mcp-jail/servers/other/home/x", "/home/u/.local/state/mcp-jail/servers/s/last.json"} {
		if p.Allows(OpRead, path) {
			t.Errorf("%s can be read", path)
		}
	}
	if home := p.Home + "/x"; !p.Allows(OpCreate, home) || !p.Allows(OpWrite, home) || !p.Allows(OpExec, home) {
		t.Errorf("the private HOME: %s", p.RightsAt(home))
	}
	checkProfile(t, p)
}

// What servers answered is kept where none of them can read or write it, and a
// directory that is not there yet cannot be made by one.
func TestCacheIsHidden(t *testing.T) {
	const own = "/home/u/.cache/mcp-jail"
	there := newFake(aSystem, "f "+own+"/catalog/x.json\nf /home/u/.cache/other/x")
	linked := newFake(aSystem, "f /home/u/disk/catalog/x.json\nf /home/u/.cache/other/x\nl "+own+" ../disk")
	for name, c := range map[string]struct {
		h    fakeHost
		rule string
		want bool // the rule reaches the cache
	}{
		"the home":              {there, "~:rw", false},
		"the cache":             {there, "~/.cache:rw", false},
		"reading only":          {there, "~/.cache:r", false},
		"by a link":             {linked, "~:rw", false},
		"not there":             {newFake(aSystem, "f /home/u/.cache/other/x"), "~/.cache:rw", false},
		"nor what it is in":     {newFake(aSystem), "~:rw", false},
		"a rule that names it":  {there, own + ":rw", true},
		"a rule for the inside": {there, own + "/catalog:rw", true},
	} {
		p, ws := mustResolve(t, c.h, fsRules(c.rule))
		file := own + "/catalog/x.json"
		if name == "by a link" {
			file = "/home/u/disk/catalog/x.json"
		}
		for op, got := range map[string]bool{"read": p.Allows(OpRead, file), "write": p.Allows(OpWrite, file), "create": p.Allows(OpCreate, file+"2"), "mkdir": p.Allows(OpMkdir, own)} {
			if c.want && (op == "mkdir" || op == "read" || strings.HasSuffix(c.rule, ":r")) {
				continue
			}
			if got != c.want && !(c.want && op == "mkdir") {
				t.Errorf("%s: %s: %v, want %v", name, op, got, c.want)
			}
		}
		if c.want != strings.Contains(codes(ws), "sensitive-granted") {
			t.Errorf("%s: warnings %s", name, codes(ws))
		}
		if !c.want && c.rule != "~/.cache:r" && name != "nor what it is in" && !p.Allows(OpWrite, "/home/u/.cache/other/x") {
			t.Errorf("%s: the rule grants nothing at all", name)
		}
	}
}

// What one tool leaves in HOME is not there for another: its process has a copy.
func TestToolsHome(t *testing.T) {
	const stateless = aServer + "stateful = false\n"
	for _, c := range []struct {
		toml, tool string
		want       bool
	}{
		{stateless, "search", true}, // whether or not a table declares it
		{stateless + "[servers.s.tools.search.access]\n", "search", true},
		{stateless + "home = \"private\"\n", "search", true},
		{stateless, "", false}, // the process that lists the tools fills what they see
		{stateless + "home = \"real\"\n", "search", false},
		{aServer, "", false},
	} {
		p, _, err := resolveTool(t, newFake(aSystem), c.toml, c.tool)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Ephemeral })
		if got != c.want {
			t.Errorf("%s, tool %q: %v", c.toml, c.tool, got)
		}
		if !got {
			continue
		}
		home, _ := p.Find(p.Home)
		if !home.Ephemeral || home.Path != p.Home || home.Rights != AllRights || home.Origin != OriginHome {
			t.Errorf("%+v", home)
		}
		kept := *p
		kept.Entries = slices.Clone(p.Entries)
		for i := range kept.Entries {
			kept.Entries[i].Ephemeral = false
		}
		if kept.Key() == p.Key() || kept.Equal(p) {
			t.Error("a profile whose HOME is kept counts as the same")
		}
	}
}

func TestBaselineUnion(t *testing.T) {
	h := newFake(aSystem, "d /usr/share/doc")
	p, _ := mustResolve(t, h, fsRules("/:rw"))
	if got := p.RightsAt("/usr/bin/x"); got != AllRights {
		t.Errorf("a wider rule and the baseline: %s", got)
	}
	p, _ = mustResolve(t, h, fsRules("/usr:"))
	if got := p.RightsAt("/usr/bin/x"); got != Read|Execute {
		t.Errorf("an equal rule and the baseline: %s", got)
	}
	p, _ = mustResolve(t, h, fsRules("/usr/share:"))
	if p.RightsAt("/usr/share/doc") != 0 || p.RightsAt("/usr/bin") != Read|Execute {
		t.Errorf("a narrower rule stands alone: %s", p.RightsAt("/usr/share/doc"))
	}
	for _, path := range []string{"/etc/hosts", "/etc/shadow", "/etc", "/", "/home", "/tmp"} {
		if p.RightsAt(path) != 0 {
			t.Errorf("%s is visible", path)
		}
	}
}

func TestEnvironment(t *testing.T) {
	p, ws := mustResolve(t, newFake(aSystem), aServer+"variables = [\"NODE_OPTIONS\", \"DEBUG\", \"HOME\"]\n[[servers.s.access.env]]\nname = \"MY_*\"\nread = true\n[[servers.s.access.env]]\nname = \"LANG\"\n", func(h *Host) {
		h.Environ = append(h.Environ, "NODE_OPTIONS=--x", "DEBUG=1", "MY_TOKEN=t", "MY_PLAIN=p", "LD_PRELOAD=l", "LC_ALL=C", "PATH=rel::/usr/bin:.:/usr/bin/:/home/u/bin:/bin", "noequals", "=x")
	})
	got := map[string]Variable{}
	for i, v := range p.Env {
		got[v.Name] = v
		if i > 0 && p.Env[i-1].Name >= v.Name {
			t.Errorf("not sorted: %s", v.Name)
		}
	}
	for name, secret := range map[string]bool{"NODE_OPTIONS": true, "DEBUG": true, "MY_TOKEN": true, "MY_PLAIN": false, "LC_ALL": false, "HOME": false, "TMPDIR": false, "PATH": false} {
		if v, ok := got[name]; !ok || v.Secret != secret {
			t.Errorf("%s: %+v, %v", name, v, ok)
		}
	}
	for _, name := range []string{"LANG", "GH_TOKEN", "LD_PRELOAD", "EDITOR"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s was passed", name)
		}
	}
	if got["PATH"].Value != "/usr/bin:/bin:/usr/local/bin" || got["HOME"].Value != p.Home || got["TMPDIR"].Value != "/tmp" {
		t.Errorf("PATH=%s HOME=%s TMPDIR=%s", got["PATH"].Value, got["HOME"].Value, got["TMPDIR"].Value)
	}
	if codes(ws) != "dangerous-variable no-effect" {
		t.Errorf("warnings %v", ws)
	}
	if want := "EDITOR GH_TOKEN LANG LD_PRELOAD SECRET"; strings.Join(p.Withheld, " ") != want {
		t.Errorf("withheld %v, want %s", p.Withheld, want)
	}
}

// The value of a secret is nowhere in what can be printed.
func TestProfileJSON(t *testing.T) {
	p, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n")
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "ghp_x") || !strings.Contains(string(text), `"name":"GH_TOKEN","secret":true`) {
		t.Errorf("%s, %v", text, err)
	}
	q, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n", func(h *Host) { h.Environ = append(h.Environ, "GH_TOKEN=other") })
	if p.Key() != q.Key() || p.Equal(q) {
		t.Error("a secret's value is in Key, or not in Equal")
	}
	r, _ := mustResolve(t, newFake(aSystem), aServer)
	if p.Key() == r.Key() {
		t.Error("two policies, one Key")
	}
}

func TestResolveChecksPolicy(t *testing.T) {
	for want, p := range map[string]*Policy{
		"user info":       {Server: "s", Command: "server", Net: []NetRule{{Host: "a@b"}}},
		"needs a port":    {Server: "s", Command: "server", Net: []NetRule{{Host: "a", Scheme: "tcp"}}},
		"the path is emp": {Server: "s", Command: "server", Fs: []FsRule{{}}},
		"one trailing":    {Server: "s", Command: "server", Env: []EnvRule{{Name: "a*b"}}},
		"server name":     {Server: "../x", Command: "server"},
		"is empty":        {Server: "s"},
	} {
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	h := newFake(aSystem).host()
	h.OS = "windows"
	if _, _, err := Resolve(&Policy{Server: "s", Command: "server"}, h); !errors.Is(err, ErrPlatform) {
		t.Errorf("windows: %v", err)
	}
}
