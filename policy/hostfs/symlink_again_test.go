package hostfs

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// againHost has directories, a file and links. On macOS it finds names in any case.
func againHost(system string) *Host {
	links := map[string]string{"/link": "d", "/d/up": "..", "/d/e/abs": "/d/file", "/d/loop": "loop"}
	names := []string{"/", "/d", "/d/e", "/d/e/g", "/d/file", "/link", "/d/up", "/d/e/abs", "/d/loop"}
	find := func(p string) (at int) {
		for i, name := range names {
			if name == p || system == "darwin" && strings.EqualFold(name, p) {
				return i
			}
		}
		return -1
	}
	return &Host{
		OS: system,
		Lstat: func(p string) (FileInfo, error) {
			i := find(p)
			switch {
			case i < 0:
				return FileInfo{}, fs.ErrNotExist
			case links[names[i]] != "":
				return FileInfo{Mode: fs.ModeSymlink, ID: policy.FileID{Ino: uint64(i + 1)}}, nil
			case names[i] == "/d/file":
				return FileInfo{ID: policy.FileID{Ino: uint64(i + 1)}}, nil
			}
			return FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: uint64(i + 1)}}, nil
		},
		Readlink: func(p string) (string, error) { return links[names[find(p)]], nil },
		ReadDir: func(dir string) (out []DirEntry, err error) {
			for _, name := range names[1:] {
				if in, base := Split(name); strings.EqualFold(in, dir) {
					out = append(out, DirEntry{Name: base})
				}
			}
			return out, nil
		},
	}
}

// TestResolveAgain compares each answer of a resolver that has followed another path before, and so
// begins where that led, with the answer of a new resolver.
func TestResolveAgain(t *testing.T) {
	paths := []string{"/", "/d", "/D", "/d/e", "/D/e", "/d/E", "/d/e/g", "/D/E/G", "/d/e/x", "/d/file", "/d/file/x", "/d/FILE/x", "/link", "/link/e", "/LINK/E/g", "/d/up", "/d/up/d/e", "/d/e/abs", "/d/e/abs/x", "/d/e/../file", "/d/loop", "/d/loop/x", "/x/y"}
	for _, system := range []string{"linux", "darwin"} {
		for _, first := range paths {
			for _, p := range paths {
				used := NewLinkResolver(againHost(system))
				used.Resolve(first)
				got, gotErr := used.Resolve(p)
				want, wantErr := NewLinkResolver(againHost(system)).Resolve(p)
				if !reflect.DeepEqual(got, want) || gotErr != wantErr {
					t.Errorf("%s: %s after %s: %+v, %v; want %+v, %v", system, p, first, got, gotErr, want, wantErr)
				}
			}
		}
	}
}

// TestResolveSawNew tests that an answer is forgotten when the host turns out to have the path, and that
// what a caller appends to the links of an answer is in no other.
func TestResolveSawNew(t *testing.T) {
	host := againHost("linux")
	here := host.Lstat
	host.Lstat = func(p string) (FileInfo, error) {
		if p != "/" {
			return FileInfo{}, fs.ErrNotExist
		}
		return here(p)
	}
	f := NewLinkResolver(host)
	if at, _ := f.Resolve("/d/up/d/up/link/e"); at.Exists() {
		t.Error("nothing exists yet")
	}
	host.Lstat = here
	if at, _ := f.Resolve("/d/up/d/up/link/e"); at.Exists() {
		t.Error("the answer is not the same again")
	}
	f.Saw("/d/up/d/up/link/e")
	at, _ := f.Resolve("/d/up/d/up/link/e")
	if !at.Exists() || at.Path != "/d/e" || len(at.Links) != 3 {
		t.Fatalf("after it was seen: %+v", at)
	}
	at.Links = append(at.Links, policy.Link{Path: "/x"})
	again, _ := f.Resolve("/d/up/d/up/link/e")
	if next := append(again.Links, policy.Link{Path: "/y"}); at.Links[3].Path != "/x" || len(again.Links) != 3 {
		t.Errorf("one caller's links %v in those of another, %v", next, at.Links)
	}
}
