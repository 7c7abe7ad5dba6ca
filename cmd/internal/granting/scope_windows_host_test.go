package granting

import (
	"io/fs"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestScopeOfWindows: what is protected in a grant on a Windows, and what a rule for it grants. All of it is there.
func TestScopeOfWindows(t *testing.T) {
	host := hostfs.Host{
		OS: "windows", Home: `C:\Users\u`, Dir: `C:\Users\u\proj`,
		Lstat:    func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{Mode: fs.ModeDir | 0o777}, nil },
		Readlink: func(string) (string, error) { return "", fs.ErrNotExist }, ReadDir: func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist },
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
	}
	rule := func(p string) policy.FsRule {
		return policy.FsRule{Path: p, Read: true, Create: true, Update: true, Delete: true, Where: "a:1"}
	}
	s := NewScope(&policy.Policy{Server: "s", Command: "x", Fs: []policy.FsRule{rule(`D:\w`), rule(`D:\w\b\.vscode`)}}, host, nil)
	for path, want := range map[string][2]bool{ // granted, guarded
		`D:\w\x`: {true, false}, `d:/W/a/.VSCode/tasks.json`: {false, true}, `D:\w\a\.git\hooks`: {false, true}, `D:\w\a\.git\refs`: {true, false},
		`D:\w\b\.vscode`: {true, true}, `d:/w/B/.VSCODE`: {true, true}, `E:\x`: {false, false},
	} {
		f := NewFlag("--write", path)
		why, _ := s.Guards(f)
		if got := [2]bool{s.Grants(f) != "", why != ""}; got != want {
			t.Errorf("%s: %v (%s), want %v", path, got, why, want)
		}
	}
}
