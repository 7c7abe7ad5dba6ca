package resolve

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// sharedHost is a host with directories of one server's own, and with shared ones of each kind.
func sharedHost() hostfs.Host {
	h := newFake(aSystem, `
		d /home/u/notes/deep
		d /home/u/.ssh
		d /home/u/.local/share/app
		d /home/u/.config/app
		d /home/u/Documents/notes
		d /home/u/Dokumente/notes
		f /home/u/.config/user-dirs.dirs # a comment\nXDG_DOCUMENTS_DIR="$HOME/Dokumente"\nXDG_DESKTOP_DIR="/elsewhere"\n
		d /home/u/proj/.venv/bin
		d /home/u/dotfiles
		l /home/u/.bashrc dotfiles/bashrc
		l /home/u/link /home/u
		l /home/u/away /home/u/notes
		d /tmp/mine
		d /srv/team
		d /srv/group
		d /srv/owngroup
		d /srv/sticky
		d /srv/theirs
		d /srv/mine
		d /home/u/ws/a/.git/hooks
		l /home/u/ws/a/cache .git/hooks
		f /home/u/ws/b/.git
		f /home/u/bare.git/HEAD
		d /home/u/bare.git/objects
		d /home/u/bare.git/refs
		d /home/u/linked
		l /home/u/linked/w ../ws/b
		d /data/homes`).host()
	h.Environ = append(h.Environ, "PATH=/home/u/proj/.venv/bin:/usr/bin")
	h.OwnGroup = func(gid int) bool { return gid == 1000 }
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := lstat(p)
		switch p {
		case "/srv/team":
			info.Mode = fs.ModeDir | 0o777
		case "/srv/sticky":
			info.Mode = fs.ModeDir | fs.ModeSticky | 0o777
		case "/srv/group", "/srv/owngroup":
			info.Mode = fs.ModeDir | 0o775
			if info.GID = 50; p == "/srv/owngroup" {
				info.GID = 1000
			}
		case "/srv/theirs":
			info.UID = 2_000_000_001
		}
		return info, err
	}
	return h
}

// TestShared tests which directories are for one server alone, by what they lead to.
func TestShared(t *testing.T) {
	h := sharedHost()
	for dir, want := range map[string]string{
		"/": "root of the filesystem", "/home": "holds the home directory", "/home/u": "is the home directory", "/home/u/link": "is the home directory", "/home/u/notes/..": "is the home directory",
		"/tmp": "system directory", "/var/tmp": "system directory", "/usr/share/app": "system directory", "/etc": "mcp-jail's own", "/srv": "system directory", "/opt": "system directory",
		"/home/u/.ssh": "sensitive path (~/.ssh)", "/home/u/.ssh/deep": "sensitive path", "/home/u/.docker": "holds a sensitive path (~/.docker/config.json)", "/home/u/.cargo": "sensitive path",
		"/home/u/.config": "mcp-jail's own", "/home/u/.cache": "mcp-jail's own", "/home/u/.local/state/mcp-jail/servers/x": "mcp-jail's own", "/home/u/.local/share": "mcp-jail's own",
		"/home/u/bin": "is ~/bin (", "/home/u/.local/bin": "is ~/.local/bin (", "/home/u/.npm": "is ~/.npm (", "/home/u/dotfiles": "holds ~/.bashrc: ", "/home/u/.vim/x": "is in ~/.vim (", "/home/u/proj/.venv/bin": "in PATH",
		"/home/u/Documents": "many programs", "/home/u/Downloads": "many programs", "/home/u/.local/lib": "is ~/.local/lib (", "/home/u/Dokumente": "many programs", "/home/u/.var": "sensitive path", "/home/u/.local": "mcp-jail's own",
		"/srv/team": "may be written by other users", "/srv/sticky": "may be written by other users", "/srv/group": "may be written by other users", "/srv/theirs": "belongs to user 2000000001",

		"/home/u/notes": "", "/home/u/notes/deep": "", "/home/u/away": "", "/home/u/.local/share/app": "", "/home/u/.config/app": "", "/home/u/Documents/notes": "", "/home/u/Dokumente/notes": "",
		"/home/u/proj": "", "/home/u/ws": "repository ~/ws/a", "/home/u/ws/a": "repository ~/ws/a", "/home/u/ws/b": "repository ~/ws/b", "/home/u/bare.git": "repository ~/bare.git", "/home/u/bare.git/objects/x": "repository ~/bare.git", "/home/u/linked": "repository ~/linked/w",
		"/home/u/ws/a/data": "", "/home/u/ws/a/.git/hooks": "is in ~/ws/a/.git", "/home/u/ws/a/.vscode": "is ~/ws/a/.vscode", "/home/u/ws/a/.claude/x": "is in ~/ws/a/.claude", "/home/u/ws/a/.husky": "is ~/ws/a/.husky", "/home/u/ws/a/.github/workflows": "is ~/ws/a/.github/workflows", "/home/u/ws/a/.cursor": "is ~/ws/a/.cursor", "/home/u/ws/a/cache": "is in ~/ws/a/.git",
		"/home/u/ws/a/.git/modules/m": "is in ~/ws/a/.git", "/tmp/mine": "", "/srv/mine": "", "/srv/owngroup": "", "/srv/missing": "", "/data/homes": "",
	} {
		if got := Shared(&h, &policy.Policy{}, dir); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	h.Home = "/data/homes/u"
	if got := Shared(&h, &policy.Policy{}, "/data/homes"); got != "holds the home directory" {
		t.Errorf("a directory around another home: %q", got)
	}
}

// TestBeside tests that the rule of a preset for the directory around a named file is refused where
// the directory is shared, from wherever the path is taken, and that a rule of the user for the same
// directory decides in its place.
func TestBeside(t *testing.T) {
	user := func(path string) policy.FsRule { return policy.FsRule{Path: path, Read: true, Where: "c.toml:1"} }
	for _, c := range []struct {
		dir, file, workspace, cwd string
		then                      []policy.FsRule
		refused, warned           string
	}{
		{dir: "/home/u", file: "/home/u/m.db", refused: "which is the home directory"},
		{dir: "~", file: "~/m.db", refused: "which is the home directory"},
		{dir: "/home/u/link", file: "/home/u/link/m.db", refused: "which is the home directory"},
		{dir: "/", file: "/m.db", refused: "root of the filesystem"},
		{dir: "/tmp", file: "/tmp/m.db", refused: "all of /tmp (read write), which is a system directory"},
		{dir: "/srv/team", file: "/srv/team/m.db", refused: "other users"},
		{dir: ".", file: "m.db", workspace: "/home/u", refused: "which is the home directory"},
		{dir: ".", file: "m.db", workspace: "/tmp", refused: "system directory"},
		{dir: ".", file: "m.db", cwd: "/tmp", refused: "system directory"},
		{dir: ".", file: "m.db", cwd: "/home/u", warned: "home-workspace"}, // it grants nothing
		{dir: ".", file: "m.db"},
		{dir: ".", file: "m.db", workspace: "/home/u/ws/a"},
		{dir: ".", file: "m.db", then: []policy.FsRule{{Path: ".", Read: true, Where: "c.toml:1"}}},
		{dir: "data", file: "data/m.db", workspace: "/home/u/ws/a", warned: "missing-path"},
		{dir: ".git/hooks", file: ".git/hooks/m.db", workspace: "/home/u/ws/a", refused: "is in ~/ws/a/.git"},
		{dir: ".vscode", file: ".vscode/m.db", refused: "~/proj/.vscode"},
		{dir: "/home/u/ws", file: "/home/u/ws/m.db", refused: "repository ~/ws/a"},
		{dir: "/home/u/notes", file: "/home/u/notes/deep", refused: "is a directory: name a file"},
		{dir: "/home/u/ws/a", file: "/home/u/ws/a/cache", refused: "is a directory: name a file"},
		{dir: "/home/u/notes", file: "/home/u/notes/..", refused: "is a directory: name a file"},
		{dir: "/home/u/notes", file: "/home/u/notes/m.db"},
		{dir: "/home/u/away", file: "/home/u/away/m.db"},
		{dir: "/tmp/mine", file: "/tmp/mine/m.db"},
		{dir: "/home/u/later", file: "/home/u/later/m.db", warned: "missing-path"},
		{dir: "/home/u", file: "/home/u/m.db", then: []policy.FsRule{user("/home/u/notes")}, refused: "home directory"},
		{dir: "/home/u", file: "/home/u/m.db", then: []policy.FsRule{user("~")}, warned: "wide-grant"},
		{dir: "/home/u/link", file: "/home/u/link/m.db", then: []policy.FsRule{user("/home")}, refused: "home directory"},
	} {
		h := sharedHost()
		if c.cwd != "" {
			h.Dir = c.cwd
		}
		rule := policy.FsRule{Path: c.dir, Read: true, Create: true, Update: true, Delete: true, Where: "preset x: --db", Preset: true, Beside: c.file}
		p := &policy.Policy{Server: "s", Command: "server", Workspace: c.workspace, Fs: append([]policy.FsRule{rule}, c.then...), Limits: policy.DefaultLimits}
		out, ws, err := Resolve(p, h)
		var refused *RuleError
		if !errors.As(err, &refused) && (err != nil || c.refused != "") || refused != nil && (c.refused == "" || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%+v: %v", c, err)
		}
		if !strings.Contains(codes(ws), c.warned) {
			t.Errorf("%+v: %v", c, ws)
		}
		at := "/home/u/x"
		if c.dir == "." {
			at = "/home/u/proj/x"
		}
		if want := map[bool]policy.Rights{true: policy.Read | policy.Write, false: policy.Read}[c.dir == "."]; err == nil && len(c.then) > 0 && out.RightsAt(at) != want {
			t.Errorf("%+v: %s", c, out.RightsAt(at))
		}
		if strings.IndexByte("~/", c.dir[0]) >= 0 { // then a client's entry is judged alike
			if _, err := checkRule(h, rule); (err != nil) != (c.refused != "" || c.then != nil) {
				t.Errorf("%+v: CheckFiles: %v", c, err)
			}
		}
	}
}

// TestPresetWorkspace tests that a relative rule of a preset, and a rule for ".", never grant what the
// default policy does not grant, and that the user's own rule for another path does.
func TestPresetWorkspace(t *testing.T) {
	for _, c := range []struct {
		path, workspace, cwd string
		granted              bool
	}{
		{".", "", "/home/u", false}, {".", "", "/", false}, {".", "", "/tmp", false}, {".", "", "/home/u/.config", false}, {"u", "", "/home", false},
		{".", "/home/u", "/", false}, {".", "/home/u/link", "/", false}, {".", "/home", "/", false}, {".", "/home/u/.ssh", "/", false}, {"..", "", "/home/u/proj", false},
		{".", "", "/home/u/proj", true}, {".", "/home/u/notes", "/home/u", true}, {"notes", "", "/home/u", true}, {"mine", "", "/tmp", true},
	} {
		h := sharedHost()
		h.Dir = c.cwd
		for _, preset := range []bool{true, false} {
			rule := policy.FsRule{Path: c.path, Read: true, Update: true, Where: "preset x:3", Preset: preset}
			p := &policy.Policy{Server: "s", Command: "server", Workspace: c.workspace, Fs: []policy.FsRule{rule}, Limits: policy.DefaultLimits}
			out, ws, err := Resolve(p, h)
			var refused *RuleError
			if c.path == ".." && errors.As(err, &refused) {
				continue
			}
			testkit.Must(t, err)
			at := hostfs.NewLinkResolver(&h)
			dir, _ := at.Resolve(path.Join(cmp.Or(c.workspace, c.cwd), c.path))
			if e, ok := out.Find(dir.Path); (ok && e.Origin == policy.OriginRule) != (c.granted || !preset && c.path != ".") {
				t.Errorf("%+v, preset %v: %+v", c, preset, e)
			}
			if warned := strings.Contains(codes(ws), "-workspace"); warned != (!c.granted && (preset || c.path == ".")) {
				t.Errorf("%+v, preset %v: %v", c, preset, ws)
			}
		}
	}
}

// TestWideGrant tests the warning about a rule that grants the home directory or more.
func TestWideGrant(t *testing.T) {
	h := newFake(aSystem, "d /data/u/notes\nl /home/me /data/u\nl /home/u/up /home").host()
	for path, wide := range map[string]bool{"~": true, "~/": true, "/": true, "/home": true, "/home/u/up": true, "~/proj": false, "/tmp": false} {
		for _, write := range []bool{false, true} {
			got, _ := checkRule(h, policy.FsRule{Path: path, Read: true, Update: write})
			if (got != "") != wide || wide && strings.Contains(got, "protected names") != write {
				t.Errorf("%s, write %v: %q", path, write, got)
			}
		}
		if got, _ := checkRule(h, policy.FsRule{Path: path}); got != "" {
			t.Errorf("%s without rights: %q", path, got)
		}
	}
	h.Home = "/home/me" // a link
	for _, path := range []string{"~", "/data"} {
		if got, _ := checkRule(h, policy.FsRule{Path: path, Read: true}); got == "" {
			t.Errorf("%s: a home directory that is a link", path)
		}
	}
}
