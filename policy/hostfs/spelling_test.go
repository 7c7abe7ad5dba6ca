package hostfs

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// spellingHost is a Mac with one directory, whose names lead to objects of these numbers.
func spellingHost(names map[string]uint64) Host {
	find := func(p string) (FileInfo, error) {
		name, inside := strings.CutPrefix(p, "/d/")
		if p == "/" || p == "/d" {
			return FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: uint64(len(p))}}, nil
		}
		for other, ino := range names {
			if inside && strings.EqualFold(spellingKey(other), spellingKey(name)) || strings.ReplaceAll(other, "ß", "ss") == name {
				return FileInfo{ID: policy.FileID{Ino: ino}}, nil
			}
		}
		return FileInfo{}, fs.ErrNotExist
	}
	return Host{OS: "darwin", Lstat: find, ReadDir: func(p string) (out []DirEntry, err error) {
		if p == "/" {
			return []DirEntry{{Name: "d", Type: fs.ModeDir}}, nil
		}
		for name := range names {
			out = append(out, DirEntry{Name: name})
		}
		return out, nil
	}}
}

// TestSpelling tests that a canonical path on macOS has the spelling of the directory, and that the same
// host as another system keeps what was asked for.
func TestSpelling(t *testing.T) {
	const nfd, nfc = "Bu\u0308cher", "B\u00fccher"
	for _, c := range []struct {
		names       map[string]uint64
		asked, want string
	}{
		{map[string]uint64{"Readme": 7, "other": 8}, "/d/README", "/d/Readme"},
		{map[string]uint64{"Readme": 7, "README": 7}, "/d/README", "/d/README"},
		{map[string]uint64{nfd: 7}, "/d/" + nfc, "/d/" + nfd},
		{map[string]uint64{nfc: 7}, "/d/" + nfd, "/d/" + nfc},
		{map[string]uint64{nfc: 7}, "/D/" + strings.ToLower(nfd), "/d/" + nfc},
		{map[string]uint64{"Readme": 7}, "/d/missing", "/d/missing"},
	} {
		h := spellingHost(c.names)
		if strings.HasPrefix(c.asked, "/D/") {
			inner := h.Lstat
			h.Lstat = func(p string) (FileInfo, error) { return inner(strings.Replace(p, "/D", "/d", 1)) }
		}
		if got := NewLinkResolver(&h).Canonical(c.asked); got != c.want {
			t.Errorf("%q among %v: %q, want %q", c.asked, c.names, got, c.want)
		}
		h.OS = "linux"
		if got := NewLinkResolver(&h).Canonical(c.asked); got != c.asked {
			t.Errorf("%q on Linux: %q", c.asked, got)
		}
	}
}

// TestSpellingIsRecorded tests that a recording notices another spelling of the same object.
func TestSpellingIsRecorded(t *testing.T) {
	names := map[string]uint64{"Readme": 7}
	var r Recording
	h := r.Record(spellingHost(names))
	if got := NewLinkResolver(&h).Canonical("/d/readme"); got != "/d/Readme" || !r.Unchanged() {
		t.Fatalf("%s, unchanged %v", got, r.Unchanged())
	}
	delete(names, "Readme")
	names["README"] = 7
	if r.Unchanged() {
		t.Error("a new spelling is no change")
	}
}
