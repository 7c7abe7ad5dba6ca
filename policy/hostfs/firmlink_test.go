package hostfs

import (
	"io/fs"
	"path"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// objectHost is a host whose paths lead to objects of these numbers, and which lists these names.
func objectHost(os string, objects map[string]uint64, listed map[string][]string) *Host {
	return &Host{
		OS: os,
		Lstat: func(p string) (FileInfo, error) {
			ino, ok := objects[p]
			if !ok {
				return FileInfo{}, fs.ErrNotExist
			}
			return FileInfo{ID: policy.FileID{Ino: ino}}, nil
		},
		ReadDir: func(p string) (out []DirEntry, err error) {
			for _, name := range listed[p] {
				out = append(out, DirEntry{Name: name})
			}
			return out, nil
		},
	}
}

// TestListedName tests that a name is replaced by another of the same object alone, and only where both
// can be spellings of one name: a hard link is another file for a rule.
func TestListedName(t *testing.T) {
	type object struct {
		name string
		ino  uint64
	}
	for _, c := range []struct {
		what        string
		ino         uint64 // of what was asked for
		listed      []object
		asked, want string
	}{
		{"another case", 7, []object{{"x", 9}, {"Readme", 7}}, "README", "Readme"},
		{"another object of that spelling", 7, []object{{"Readme", 9}}, "README", "README"},
		{"both spellings are there", 7, []object{{"Readme", 7}, {"README", 7}}, "README", "README"},
		{"a hard link", 7, []object{{"LICENSE", 7}}, "README", "README"},
		{"a host without numbers", 0, []object{{"Readme", 0}}, "README", "README"},
		{"a spelling beyond ASCII", 7, []object{{"x", 9}, {"straße", 7}}, "strasse", "straße"},
		{"a name beyond ASCII", 7, []object{{"x", 9}, {"strasse", 7}}, "straße", "strasse"},
		{"another object beyond ASCII", 7, []object{{"größe", 9}}, "strasse", "strasse"},
		{"two names beyond ASCII", 7, []object{{"straße", 7}, {"größe", 7}}, "strasse", "strasse"},
		{"nothing", 7, nil, "README", "README"},
	} {
		objects, listed := map[string]uint64{}, map[string][]string{}
		for _, o := range c.listed {
			objects["/d/"+o.name] = o.ino
			listed["/d"] = append(listed["/d"], o.name)
		}
		h := objectHost("darwin", objects, listed)
		if got := NewLinkResolver(h).spelled("/d", c.asked, FileInfo{ID: policy.FileID{Ino: c.ino}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := NewLinkResolver(&Host{OS: "darwin"}).spelled("/d", "x", FileInfo{}); got != "x" {
		t.Errorf("a host that lists nothing: %q", got)
	}
}

// TestFirmlinked tests that the second name that macOS has for an object becomes the usual one, and that
// no other name does.
func TestFirmlinked(t *testing.T) {
	const second = "/System/Volumes/Data/Users/u"
	listed := map[string][]string{"/Users": {"u"}}
	for _, c := range []struct {
		what, os string
		ino      uint64
		objects  map[string]uint64
		p, want  string
	}{
		{"the same object", "darwin", 7, map[string]uint64{"/Users/u": 7}, second, "/Users/u"},
		{"in another spelling", "darwin", 7, map[string]uint64{"/Users/u": 7, "/Users/U": 7}, "/System/Volumes/Data/Users/U", "/Users/u"},
		{"another object", "darwin", 7, map[string]uint64{"/Users/u": 9}, second, second},
		{"no usual name", "darwin", 7, nil, second, second},
		{"a host without numbers", "darwin", 0, map[string]uint64{"/Users/u": 0}, second, second},
		{"another system", "linux", 7, map[string]uint64{"/Users/u": 7}, second, second},
		{"a directory beside it", "darwin", 7, map[string]uint64{"base/u": 7}, "/System/Volumes/Database/u", "/System/Volumes/Database/u"},
		{"a usual name", "darwin", 7, map[string]uint64{"/Users/u": 7}, "/Users/u", "/Users/u"},
	} {
		f := NewLinkResolver(objectHost(c.os, c.objects, listed))
		if got := f.firmlinked(c.p, FileInfo{ID: policy.FileID{Ino: c.ino}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestStandIn tests which programs of /usr/bin are not started themselves, and what counts as the tool
// in their place.
func TestStandIn(t *testing.T) {
	const tool = "/Library/Developer/CommandLineTools/usr/bin/git"
	for _, c := range []struct {
		what, os, program, tool string
		mode                    fs.FileMode // of the tool
		real                    string
		ok                      bool
	}{
		{"a tool", "darwin", "/usr/bin/git", tool, 0o755, tool, true},
		{"no tool", "darwin", "/usr/bin/git", "/x", 0o755, "", true},
		{"a file that is no program", "darwin", "/usr/bin/git", tool, 0o644, "", true},
		{"a directory of its name", "darwin", "/usr/bin/git", tool, fs.ModeDir | 0o755, "", true},
		{"a tool for another program", "darwin", "/usr/bin/make", tool, 0o755, "", true},
		{"another program", "darwin", "/usr/bin/env", tool, 0o755, "", false},
		{"another directory", "darwin", "/usr/local/bin/git", tool, 0o755, "", false},
		{"another system", "linux", "/usr/bin/git", tool, 0o755, "", false},
	} {
		modes := map[string]fs.FileMode{c.program: 0o755, c.tool: c.mode, "/": fs.ModeDir | 0o755}
		for _, p := range []string{c.program, c.tool} {
			for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
				modes[dir] = fs.ModeDir | 0o755
			}
		}
		h := &Host{OS: c.os, Lstat: func(p string) (FileInfo, error) {
			mode, ok := modes[p]
			if !ok {
				return FileInfo{}, fs.ErrNotExist
			}
			return FileInfo{Mode: mode}, nil
		}}
		if got, ok := NewLinkResolver(h).StandIn(c.program); got != c.real || ok != c.ok {
			t.Errorf("%s: %q, %v", c.what, got, ok)
		}
	}
}
