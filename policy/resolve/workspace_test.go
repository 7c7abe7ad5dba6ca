package resolve

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
		p, ws := mustResolve(t, h, aServer, func(h *hostfs.Host) { h.Dir = dir })
		if got := p.Workspace != "" && p.RightsAt(p.Workspace).Has(policy.Read|policy.Write); got != safe {
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
	p, ws := mustResolve(t, newFake(aSystem, "d /data/homes/u"), aServer, func(h *hostfs.Host) { h.Dir, h.Home = "/data/homes", "/data/homes/u" })
	if p.Workspace != "" || !strings.Contains(ws[0].Message, "holds the home directory") {
		t.Errorf("an ancestor of home: %v", ws)
	}
	// With its whole path it can be granted.
	p, _ = mustResolve(t, h, fsRules("~:r"), func(h *hostfs.Host) { h.Dir = "/home/u" })
	if p.RightsAt("/home/u/x") != policy.Read || p.RightsAt("/home/u/.ssh/x") != 0 || p.Dir != "/home/u" {
		t.Errorf("explicit rule: %s", printProfile(p))
	}
	// A missing working directory is an error only if the user named it.
	if p, ws := mustResolve(t, h, aServer, func(h *hostfs.Host) { h.Dir = "/gone" }); p.Workspace != "" || codes(ws) != "no-workspace" {
		t.Errorf("gone: %v", ws)
	}
}

// TestHomeByRelativeFlag checks that a flag such as --write . grants nothing where the working
// directory is or contains the home directory. With --workspace, or with a flag that names the home
// directory, it grants the home directory.
func TestHomeByRelativeFlag(t *testing.T) {
	h := newFake(aSystem, "d /home/u/proj", "f /home/u/x", "d /home/u/.local/state/mcp-jail/servers")
	for _, c := range []struct {
		dir, workspace, rule string
		granted              bool
	}{
		{"/home/u", "", ".", false}, {"/home", "", ".", false}, {"/home", "", "u", false},
		{"/home/u", "", "~", true}, {"/home/u", "", "x", true},
	} {
		host := h.host()
		host.Dir = c.dir
		rule := policy.FsRule{Path: c.rule, Read: true, Update: true, Where: "--write"}
		p := &policy.Policy{Server: "s", Command: "server", Workspace: c.workspace, FromCommandLine: true, Fs: []policy.FsRule{rule}, Limits: policy.DefaultLimits}
		out, ws, err := Resolve(p, host)
		testkit.Must(t, err)
		if out.Allows(policy.OpWrite, "/home/u/x") != c.granted || strings.Contains(codes(ws), "home-workspace") == c.granted {
			t.Errorf("%+v: %s, %v", c, out.RightsAt("/home/u/x"), ws)
		}
	}
}

// TestDirectory checks that the server starts in its workspace if the workspace exists in
// the jail.
func TestDirectory(t *testing.T) {
	h := newFake(aSystem, "d /work/ws/sub", "f /work/ws/file", "d /tmp/ws/sub", "d /other")
	for _, row := range []struct{ dir, rules, want string }{
		{"/work/ws", fsRules(".:r"), "/work/ws"},
		{"/work/ws", fsRules("sub:r"), "/work/ws"},
		{"/work/ws", fsRules("file:r"), "/work/ws"},
		{"/work/ws", fsRules("/work:r"), "/work/ws"},
		{"/work/ws", fsRules("/:r"), "/work/ws"},
		{"/tmp/ws", fsRules("sub:r"), "/tmp/ws"},
		{"/tmp/ws", fsRules("/tmp/ws:r"), "/tmp/ws"},
		{"/work/ws", fsRules("/other:r"), ""},
		{"/work/ws", fsRules("/work:r", "/work/ws:"), ""},
		{"/tmp/ws", fsRules("/:r"), ""}, // the jail has its own /tmp
	} {
		p, _ := mustResolve(t, h, row.rules, func(h *hostfs.Host) { h.Dir = row.dir })
		want := row.want
		if want == "" {
			want = p.Home
		}
		if p.Dir != want {
			t.Errorf("in %s with %q: starts in %s, want %s", row.dir, row.rules, p.Dir, want)
		}
	}
}

// TestStartIn checks where a server with a file of its own starts, and from where its program is named.
func TestStartIn(t *testing.T) {
	h := newFake(aSystem, "d /work/ws", "x /work/ws/run", "d /srv/notes", "x /srv/notes/run", "d /other")
	for _, row := range []struct{ startIn, home, command, want, program string }{
		{policy.StartInWorkspace, "", "./run", "/work/ws", "/work/ws/run"},
		{policy.StartInHome, "", "/work/ws/run", "HOME", "/work/ws/run"},
		{policy.StartInHome, "", "./run", "", ""}, // the workspace decides nothing
		{policy.StartInHome, "real", "/work/ws/run", "/tmp", "/work/ws/run"},
		{"/srv/notes", "", "./run", "/srv/notes", "/srv/notes/run"},
		{"/other", "", "/work/ws/run", "", ""}, // it is not granted
	} {
		cfg, err := config.Decode([]byte("[servers.s]\ncommand = \""+row.command+"\"\nhome = \""+cmp.Or(row.home, "private")+"\"\naccess.fs = [{ path = \".\", read = true, execute = true }, { path = \"/srv/notes\", read = true, execute = true }]\n"), "c.toml")
		testkit.Must(t, err)
		p, err := cfg.Policy("s", "")
		testkit.Must(t, err)
		p.StartIn = row.startIn
		host := h.host()
		host.Dir = "/work/ws"
		out, _, err := Resolve(p, host)
		if row.want == "" {
			if err == nil {
				t.Errorf("%+v: starts %s in %s", row, out.Program, out.Dir)
			}
			continue
		}
		if err != nil || out.Dir != strings.Replace(row.want, "HOME", out.Home, 1) || out.Program != row.program {
			t.Errorf("%+v: %v, %+v", row, err, out)
		}
	}
}

// owned is a fake host in which some files have other owners and modes.
func owned(h hostfs.Host, changed map[string]hostfs.FileInfo) hostfs.Host {
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := lstat(p)
		if c, ok := changed[p]; ok && err == nil {
			info.UID, info.GID = c.UID, c.GID
			if c.Mode != 0 {
				info.Mode = info.Mode.Type() | c.Mode
			}
		}
		return info, err
	}
	if h.UID != 0 {
		h.UID = 71000 // has no account on test machines
	}
	h.OwnGroup = func(gid int) bool { return gid == 1000 }
	h.Unmapped = func(uid int) bool { return uid == 65534 }
	return h
}

// TestPrivateHomeOwners checks that the private HOME is refused if another user could
// change it.
func TestPrivateHomeOwners(t *testing.T) {
	const state = "/home/u/.local/state/mcp-jail"
	for name, c := range map[string]struct {
		files   string
		changed map[string]hostfs.FileInfo
		edit    func(*hostfs.Host)
		want    string // of the error; "" is none
	}{
		"nothing there yet":            {},
		"root's and the user's":        {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state: {UID: 71000}, "/home/u": {UID: 71000}}},
		"a link to the state":          {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state"},
		"the state is a link":          {files: "d /data/jail\nl " + state + " /data/jail"},
		"the HOME is a link":           {files: "d /secret\nl " + state + "/servers/s/home /secret", want: "servers/s/home is refused: it is a symbolic link (to /secret)"},
		"the server is a link":         {files: "d /secret/home\nl " + state + "/servers/s /secret", want: "servers/s is a symbolic link"},
		"the servers are a link":       {files: "d /home/u/proj/s/home\nl " + state + "/servers ../../../proj", want: "servers is a symbolic link"},
		"another user's HOME":          {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s/home": {UID: 71001}}, want: "it belongs to user 71001, and you are user 71000"},
		"another user's directory":     {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s": {UID: 71001}}, want: state + "/servers/s belongs to user 71001"},
		"another user's home":          {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home/u": {UID: 71001}}, want: "/home/u belongs to user 71001"},
		"another user's link":          {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state", changed: map[string]hostfs.FileInfo{"/home/u/.local/state": {UID: 71001}}, want: "/home/u/.local/state belongs to user 71001"},
		"beside another user's target": {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state", changed: map[string]hostfs.FileInfo{"/data": {UID: 71001}}, want: "/data belongs to user 71001"},
		"all users may write":          {files: "d " + state, changed: map[string]hostfs.FileInfo{state: {Mode: 0o777}}, want: "may be written by other users (mode 0777)"},
		"all users may write above":    {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home": {Mode: 0o777}}, want: "chmod go-w /home"},
		"a group may write":            {files: "d " + state, changed: map[string]hostfs.FileInfo{state: {Mode: 0o770, GID: 100}}, want: "may be written by other users"},
		"the user's own group may":     {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home/u/.local": {Mode: 0o775, GID: 1000}, state: {Mode: 0o775, GID: 1000}}},
		"the HOME of all":              {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s/home": {Mode: fs.ModeSticky | 0o777}}, want: "may be written by other users"},
		"below /tmp":                   {edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" }, changed: map[string]hostfs.FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}}},
		"below /tmp, planted": {files: "d /tmp/mcp-jail/servers", edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" },
			changed: map[string]hostfs.FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}, "/tmp/mcp-jail": {UID: 71001}}, want: "/tmp/mcp-jail belongs to user 71001"},
		"below /tmp, planted by a user unknown here": {files: "d /tmp/mcp-jail/servers", edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" },
			changed: map[string]hostfs.FileInfo{"/tmp": {UID: 65534, Mode: fs.ModeSticky | 0o777}, "/tmp/mcp-jail": {UID: 65534}}, want: "/tmp/mcp-jail belongs to user"},
		"on the way below /tmp, planted by a user unknown here": {files: "d /tmp/a/mcp-jail/servers", edit: func(h *hostfs.Host) { h.StateDir = "/tmp/a/mcp-jail" },
			changed: map[string]hostfs.FileInfo{"/tmp": {UID: 65534, Mode: fs.ModeSticky | 0o777}, "/tmp/a": {UID: 65534}}, want: "/tmp/a belongs to user"},
		"an unknown user's link in /tmp": {files: "d /data/jail\nl /tmp/mcp-jail /data/jail", edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" },
			changed: map[string]hostfs.FileInfo{"/tmp": {UID: 65534, Mode: fs.ModeSticky | 0o777}, "/tmp/mcp-jail": {UID: 65534}}, want: "/tmp/mcp-jail belongs to user"},
		"an unknown owner's directory that its group may write": {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home": {UID: 65534, GID: 65534, Mode: 0o775}}, want: "/home may be written by other users"},
		"the user is not known here": {files: "d " + state, edit: func(h *hostfs.Host) { h.SelfUnmapped = true },
			changed: map[string]hostfs.FileInfo{state: {UID: 71000}}, want: "does not know you"},
		"root is not known here":      {files: "d " + state, changed: map[string]hostfs.FileInfo{"/": {UID: 65534}, "/home": {UID: 65534}}},
		"the HOME's owner is unknown": {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s/home": {UID: 65534}}, want: "belongs to user"},
		"root with a user's HOME":     {files: "d " + state, edit: func(h *hostfs.Host) { h.UID = 0 }, changed: map[string]hostfs.FileInfo{"/home/u": {UID: 71000}}, want: "HOME names that place: let it name your own home directory (sudo -H does)"},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(h *hostfs.Host) {
				if c.edit != nil {
					c.edit(h)
				}
				*h = owned(*h, c.changed)
			}
			_, _, err := resolveFake(t, newFake(aSystem, c.files), "[servers.s]\ncommand = \"server\"\n", edit)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, _, err := resolveFake(t, newFake(aSystem, c.files), "[servers.s]\ncommand = \"server\"\nhome = \"real\"\n", edit); err != nil {
				t.Errorf("home = \"real\": %v", err)
			}
		})
	}
}

func decoded(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Decode([]byte(text), "f")
	testkit.Must(t, err)
	return c
}

// TestToolsHome checks that each tool has its own copy of HOME, so that one tool cannot
// leave files for another.
func TestToolsHome(t *testing.T) {
	const stateless = aServer + "stateful = false\n"
	for _, c := range []struct {
		toml, tool string
		want       bool
	}{
		{stateless, "search", true}, // declared or not
		{stateless + "[servers.s.tools.search.access]\n", "search", true},
		{stateless + "home = \"private\"\n", "search", true},
		{stateless, "", true}, // the process that lists the tools may read what a tool may not
		{stateless + "home = \"real\"\n", "search", false},
		{aServer, "", false},
	} {
		p, _, err := resolveTool(t, newFake(aSystem), c.toml, c.tool)
		testkit.Must(t, err)
		got := slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Ephemeral })
		if got != c.want {
			t.Errorf("%s, tool %q: %v", c.toml, c.tool, got)
		}
		if !got {
			continue
		}
		home, _ := p.Find(p.Home)
		if !home.Ephemeral || home.Path != p.Home || home.Rights != policy.AllRights || home.Origin != policy.OriginHome {
			t.Errorf("%+v", home)
		}
		kept := *p
		kept.Entries = slices.Clone(p.Entries)
		for i := range kept.Entries {
			kept.Entries[i].Ephemeral = false
		}
		if kept.Key() == p.Key() || kept.SameJail(p) {
			t.Error("a profile whose HOME is kept counts as the same")
		}
	}
}
