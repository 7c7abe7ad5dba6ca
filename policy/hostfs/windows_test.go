package hostfs

import (
	"io/fs"
	"slices"
	"testing"
)

// TestOwnAccount: files belong to the user, to administrators, to the system or to its installer. Everyone,
// all users, a service and another user of the same machine are others.
func TestOwnAccount(t *testing.T) {
	const user = "S-1-5-21-1004336348-1177238915-682003330-1001"
	for owner, want := range map[string]bool{
		user: true, "S-1-5-32-544": true, "S-1-5-18": true, "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464": true,
		"": false, "S-1-1-0": false, "S-1-5-11": false, "S-1-5-32-545": false, "S-1-5-19": false, "S-1-5-20": false, user + "0": false,
		"S-1-5-21-1004336348-1177238915-682003330-500": false, "S-1-5-21-1004336348-1177238915-682003330-1002": false,
		"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478465": false, "S-1-5-80": false,
	} {
		if isOwnAccount(owner, user) != want {
			t.Errorf("%q: want %t", owner, want)
		}
	}
	if isOwnAccount("", "") {
		t.Error("a file without an owner belongs to a user that is not known")
	}
}

// TestOtherAccount: the refusal is a sentence, with the name of the file and without it.
func TestOtherAccount(t *testing.T) {
	err := ofAccount(`C:\Users\u\c.toml`, `M\other`)
	if got, want := err.Error(), `C:\Users\u\c.toml is refused: it belongs to M\other; name a place of your own`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestUpwardEnds tests that a search in the directories above a path ends for a path without slashes,
// as Windows writes it, and for a relative one.
func TestUpwardEnds(t *testing.T) {
	for p, want := range map[string][]string{
		"/a/b": {"/a/b", "/a"}, "/": nil, "": nil, ".": nil, "a/b": {"a/b", "a"},
		`C:\Users\u`: {`C:\Users\u`}, "C:/Users": {"C:/Users", "C:"}, `\\host\share`: {`\\host\share`},
	} {
		if got := slices.Collect(Upward(p)); !slices.Equal(got, want) {
			t.Errorf("above %q: %q, want %q", p, got, want)
		}
	}
	f := NewLinkResolver(&Host{OS: "windows", Lstat: func(string) (FileInfo, error) { return FileInfo{}, fs.ErrNotExist }})
	for _, p := range []string{`C:\Users\u`, "C:/Users/u", "C:", "a"} {
		if s := f.Lstat(p); s.Err != fs.ErrNotExist {
			t.Errorf("%s: %v", p, s.Err)
		}
		f.Saw(p)
		if at := f.Canonical(p); at == "" {
			t.Errorf("%s has no canonical form", p)
		}
	}
}
