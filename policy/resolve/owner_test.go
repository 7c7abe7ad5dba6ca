package resolve

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// owned is a fake host with other owners and modes of some of its files.
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
		"anybody may write":            {files: "d " + state, changed: map[string]hostfs.FileInfo{state: {Mode: 0o777}}, want: "may be written by other users (mode 0777)"},
		"anybody may write above":      {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home": {Mode: 0o777}}, want: "chmod go-w /home"},
		"a group may write":            {files: "d " + state, changed: map[string]hostfs.FileInfo{state: {Mode: 0o770, GID: 100}}, want: "may be written by other users"},
		"the user's own group may":     {files: "d " + state, changed: map[string]hostfs.FileInfo{"/home/u/.local": {Mode: 0o775, GID: 1000}, state: {Mode: 0o775, GID: 1000}}},
		"the HOME of all":              {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s/home": {Mode: fs.ModeSticky | 0o777}}, want: "may be written by other users"},
		"below /tmp":                   {edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" }, changed: map[string]hostfs.FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}}},
		"below /tmp, planted": {files: "d /tmp/mcp-jail/servers", edit: func(h *hostfs.Host) { h.StateDir = "/tmp/mcp-jail" },
			changed: map[string]hostfs.FileInfo{"/tmp": {Mode: fs.ModeSticky | 0o777}, "/tmp/mcp-jail": {UID: 71001}}, want: "/tmp/mcp-jail belongs to user 71001"},
		"root is not known here":      {files: "d " + state, changed: map[string]hostfs.FileInfo{"/": {UID: 65534}, "/home": {UID: 65534}}},
		"the HOME's owner is unknown": {files: "d " + state + "/servers/s/home", changed: map[string]hostfs.FileInfo{state + "/servers/s/home": {UID: 65534}}, want: "belongs to user"},
		"root with a user's HOME":     {files: "d " + state, edit: func(h *hostfs.Host) { h.UID = 0 }, changed: map[string]hostfs.FileInfo{"/home/u": {UID: 71000}}, want: "sudo -H sets HOME"},
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
