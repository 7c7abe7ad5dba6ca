package resolve

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestReachOfWindows: what is asked of a Reach ends for a path of Windows, which has no slash. It has no rule,
// since a rule would be looked for by a path of Unix, and one server for each policy.
func TestReachOfWindows(t *testing.T) {
	p := &policy.Policy{Server: "s", Fs: []policy.FsRule{{Path: "~/notes", Read: true, Update: true}, {Path: "/", Create: true}}, Others: []*policy.Policy{{Server: "t"}}}
	reach := ReachOf(p, hostfs.Host{OS: "windows", Home: `C:\Users\u`, Dir: `C:\work`})
	if len(reach.Writers) != 2 || reach.Protected != nil {
		t.Errorf("%+v", reach)
	}
	for _, w := range reach.Writers {
		if len(w.Rules) != 0 {
			t.Errorf("%+v", w)
		}
	}
	for _, name := range []string{`C:\node\node.exe`, `C:\`, "C:", `c:/x`, "", "/", "//server/x", "."} {
		if w, ok := reach.Writer(name, policy.Write); ok {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestResolveOfWindows: a profile for Windows has the program, what servers reach, and the network of the
// policy. Each rule about files that the user has written is a warning, and a path that is not taken is refused.
func TestResolveOfWindows(t *testing.T) {
	host := hostfs.Host{
		OS: "windows", Home: `C:\Users\u`, Dir: `C:\work`, StateDir: `C:\state`, Environ: []string{`PATH=C:\b`},
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if p != `C:\b\srv.exe` {
				return hostfs.FileInfo{}, fs.ErrNotExist
			}
			return hostfs.FileInfo{}, nil
		},
	}
	rules := []policy.FsRule{{Path: "~/notes", Read: true, Where: "a:1"}, {Path: `D:\x`, Update: true, Where: "a:2"}}
	p := &policy.Policy{Server: "s", Command: "srv", Fs: rules, Net: []policy.NetRule{{Host: "Example.ORG"}}, Others: []*policy.Policy{{Server: "t"}}}
	profile, warnings, err := Resolve(p, host)
	testkit.Must(t, err)
	if profile.Program != `C:\b\srv.exe` || profile.Reach == nil || len(profile.Reach.Writers) != 2 || len(profile.Net) != 1 || profile.Net[0].Host != "example.org" {
		t.Errorf("%+v", profile)
	}
	var where []string
	for _, w := range warnings {
		if w.Code == "not-enforced" {
			where = append(where, w.Where)
		}
	}
	if !slices.Equal(where, []string{"a:1", "a:2"}) {
		t.Errorf("warned of %q: %+v", where, warnings)
	}
	p.Default = true
	if _, warnings, err := Resolve(p, host); len(warnings) != 0 || err != nil {
		t.Errorf("the default policy: %+v, %v", warnings, err)
	}
	p.Default, p.Fs = false, []policy.FsRule{{Path: `\\host\share`, Read: true}}
	var refused *RuleError
	if _, _, err := Resolve(p, host); !errors.As(err, &refused) {
		t.Errorf("a path of another machine: %v", err)
	}
}

// TestCheckFilesOfWindows: where rules lead, in the form of the host. Without a known directory, relative
// rules are passed over.
func TestCheckFilesOfWindows(t *testing.T) {
	host := hostfs.Host{
		OS: "windows", Home: `C:\Users\u`, Dir: `D:\work`,
		Lstat:    func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{Mode: fs.ModeDir | 0o777}, nil },
		Readlink: func(string) (string, error) { return "", fs.ErrNotExist },
		ReadDir:  func(string) ([]hostfs.DirEntry, error) { return nil, nil },
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
	}
	p := &policy.Policy{Fs: []policy.FsRule{{Path: "~/notes", Read: true}, {Path: `c:/Data\x`, Read: true}, {Path: "src", Read: true}}}
	for dir, want := range map[string][]string{
		`D:\work`: {`C:\Users\u\notes`, `C:\Data\x`, `D:\work\src`},
		"":        {`C:\Users\u\notes`, `C:\Data\x`},
	} {
		host.Dir = dir
		placed, warnings, err := CheckFiles(p, host)
		var at []string
		for _, r := range placed {
			at = append(at, r.At)
		}
		if !slices.Equal(at, want) || err != nil {
			t.Errorf("in %q: %q, %v, %v; want %q", dir, at, warnings, err, want)
		}
	}
}
