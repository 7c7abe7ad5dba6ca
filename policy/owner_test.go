package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// owned is a fake host with other owners and modes of some of its files.
func owned(h Host, changed map[string]FileInfo) Host {
	lstat := h.Lstat
	h.Lstat = func(p string) (FileInfo, error) {
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
		h.UID = 71000 // has no account on any machine that these tests run on
	}
	h.OwnGroup = func(gid int) bool { return gid == 1000 }
	h.Unmapped = func(uid int) bool { return uid == 65534 }
	return h
}

// TestPlantedState: another user has no say in the private HOME.
func TestPlantedState(t *testing.T) {
	const state = "/home/u/.local/state/mcp-jail"
	for name, c := range map[string]struct {
		files   string
		changed map[string]FileInfo
		edit    func(*Host)
		want    string // of the error; "" is none
	}{
		"nothing there yet":            {},
		"root's and the user's":        {files: "d " + state + "/servers/s/home", changed: map[string]FileInfo{state: {UID: 71000}, "/home/u": {UID: 71000}}},
		"a link to the state":          {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state"},
		"the state is a link":          {files: "d /data/jail\nl " + state + " /data/jail"},
		"the HOME is a link":           {files: "d /secret\nl " + state + "/servers/s/home /secret", want: "servers/s/home is refused: it is a symbolic link (to /secret)"},
		"the server is a link":         {files: "d /secret/home\nl " + state + "/servers/s /secret", want: "servers/s is a symbolic link"},
		"the servers are a link":       {files: "d /home/u/proj/s/home\nl " + state + "/servers ../../../proj", want: "servers is a symbolic link"},
		"another user's HOME":          {files: "d " + state + "/servers/s/home", changed: map[string]FileInfo{state + "/servers/s/home": {UID: 71001}}, want: "it belongs to user 71001, and you are user 71000"},
		"another user's directory":     {files: "d " + state + "/servers/s/home", changed: map[string]FileInfo{state + "/servers/s": {UID: 71001}}, want: state + "/servers/s belongs to user 71001"},
		"another user's home":          {files: "d " + state, changed: map[string]FileInfo{"/home/u": {UID: 71001}}, want: "/home/u belongs to user 71001"},
		"another user's link":          {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state", changed: map[string]FileInfo{"/home/u/.local/state": {UID: 71001}}, want: "/home/u/.local/state belongs to user 71001"},
		"beside another user's target": {files: "d /data/state/mcp-jail\nl /home/u/.local/state /data/state", changed: map[string]FileInfo{"/data": {UID: 71001}}, want: "/data belongs to user 71001"},
		"anybody may write":            {files: "d " + state, changed: map[string]FileInfo{state: {Mode: 0o777}}, want: "may be written by other users (mode 0777)"},
		"anybody may write above":      {files: "d " + state, changed: map[string]FileInfo{"/home": {Mode: 0o777}}, want: "chmod go-w /home"},
		"a group may write":            {files: "d " + state, changed: map[string]FileInfo{state: {Mode: 0o770, GID: 100}}, want: "may be written by other users"},
		"the user's own group may":     {files: "d " + state, changed: map[string]FileInfo{"/home/u/.local": {Mode: 0o775, GID: 1000}, state: {Mode: 0o775, GID: 1000}}},
		"the HOME of all":              {files: "d " + state + "/servers/s/home", changed: map[string]FileInfo{state + "/servers/s/home": {Mode: fs.ModeSticky | 0o777}}, want: "may be written by other users"},
		"below /tmp":                   {edit: func(h *Host) { h.StateDir = "/tmp/mcp-jail" }, changed: map[string]FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}}},
		"below /tmp, planted": {files: "d /tmp/mcp-jail/servers", edit: func(h *Host) { h.StateDir = "/tmp/mcp-jail" },
			changed: map[string]FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}, "/tmp/mcp-jail": {UID: 71001}}, want: "/tmp/mcp-jail belongs to user 71001"},
		"root is not known here":      {files: "d " + state, changed: map[string]FileInfo{"/": {UID: 65534}, "/home": {UID: 65534}}},
		"the HOME's owner is unknown": {files: "d " + state + "/servers/s/home", changed: map[string]FileInfo{state + "/servers/s/home": {UID: 65534}}, want: "belongs to user"},
		"root with a user's HOME":     {files: "d " + state, edit: func(h *Host) { h.UID = 0 }, changed: map[string]FileInfo{"/home/u": {UID: 71000}}, want: "sudo -H sets HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(h *Host) {
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

// TestForeignConfiguration: each layer but the project's, which counts by its content,
// must be the user's own word or root's.
func TestForeignConfiguration(t *testing.T) {
	if !canGive(t) {
		t.Skip("only root can give files away")
	}
	const stranger = 12345
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"own":            {func(string) error { return nil }, ""},
		"another user's": {func(dir string) error { return os.Chown(dir+"/c.toml", stranger, 0) }, "it belongs to user 12345"},
		"written by all": {func(dir string) error { return os.Chmod(dir+"/c.toml", 0o666) }, "may be written by other users"},
		"written by a group": {func(dir string) error {
			return errors.Join(os.Chown(dir+"/c.toml", 0, 100), os.Chmod(dir+"/c.toml", 0o664))
		}, "may be written by other users"},
		"another's directory": {func(dir string) error { return os.Chown(dir, stranger, 0) }, "belongs to user 12345"},
		"a directory of all":  {func(dir string) error { return os.Chmod(dir, 0o777) }, "may be written by other users"},
		"in a sticky one":     {func(dir string) error { return os.Chmod(dir, 0o777|fs.ModeSticky) }, ""},
		"a link of root's":    {func(dir string) error { return relink(dir, dir+"/store/c.toml") }, ""},
		"a link to another's": {func(dir string) error {
			return errors.Join(relink(dir, dir+"/store/c.toml"), os.Chown(dir+"/store/c.toml", stranger, 0))
		}, "store/c.toml belongs to user 12345"},
		"a link into a's dir": {func(dir string) error {
			return errors.Join(relink(dir, "store/c.toml"), os.Chown(dir+"/store", stranger, 0))
		}, "store belongs to user 12345"},
		"another user's link": {func(dir string) error {
			return errors.Join(relink(dir, "store/c.toml"), os.Lchown(dir+"/c.toml", stranger, 0))
		}, "it belongs to user 12345"},
		"a link through a dir": {func(dir string) error {
			return errors.Join(relink(dir, "store/../store/c.toml"), os.Chmod(dir+"/store", 0o777))
		}, "may be written by other users"},
	} {
		t.Run(name, func(t *testing.T) {
			o, project := layersIn(t)
			text := "[servers.s]\ncommand = \"x\"\n"
			for layer, set := range map[string]func(*LoadOptions, string){
				"system": func(o *LoadOptions, f string) { o.System = f }, "user": func(o *LoadOptions, f string) { o.User = f }, "named": func(o *LoadOptions, f string) { o.Files = []string{f} },
			} {
				dir, o := t.TempDir(), o
				must(t, os.Mkdir(dir+"/store", 0o755))
				put(t, dir+"/c.toml", text)
				put(t, dir+"/store/c.toml", text)
				must(t, c.change(dir))
				set(&o, dir+"/c.toml")
				_, _, err := Load(o)
				var ps Problems
				if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &ps) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v, want %q", layer, err, c.want)
				}
			}
			// The content of a project's file is what was accepted.
			data := put(t, project, text)
			must(t, TrustStore{o.Trust}.Trust(project, data))
			must(t, os.Chown(project, stranger, 0))
			if _, _, err := Load(o); err != nil {
				t.Errorf("project: %v", err)
			}
		})
	}
}

func relink(dir, target string) error {
	return errors.Join(os.Remove(dir+"/c.toml"), os.Symlink(target, dir+"/c.toml"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPrivatePlaces is CheckPrivate on the disk.
func TestPrivatePlaces(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/state/servers/x", 0o700))
	must(t, os.Symlink("state", dir+"/link"))
	must(t, os.Symlink("x", dir+"/state/servers/y"))
	for _, c := range []struct{ dir, name, want string }{
		{"state", "servers/x/last.json", ""},
		{"link", "servers/x/last.json", ""},
		{"state", "servers/y/last.json", "is a symbolic link (to x)"},
		{"absent", "servers/y", ""},
	} {
		err := CheckPrivate(filepath.Join(dir, c.dir), c.name)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.dir, c.name, err)
		}
	}
	must(t, os.Chmod(dir+"/state", 0o702))
	if err := CheckPrivate(dir+"/state", "trust.toml"); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a directory of all: %v", err)
	}
}
