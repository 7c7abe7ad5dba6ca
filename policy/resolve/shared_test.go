package resolve

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

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
