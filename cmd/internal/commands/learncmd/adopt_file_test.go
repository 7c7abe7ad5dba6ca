package learncmd

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// bare returns a host of a system that has directories, and what links lead to.
func bare(system, home, dir string, links map[string]string) *hostfs.Host {
	return &hostfs.Host{
		OS: system, Home: home, Dir: dir,
		Lstat: func(p string) (hostfs.FileInfo, error) {
			switch {
			case links[p] != "":
				return hostfs.FileInfo{Mode: fs.ModeSymlink | 0o777}, nil
			case strings.HasSuffix(p, "pipe"):
				return hostfs.FileInfo{Mode: fs.ModeNamedPipe}, nil
			}
			return hostfs.FileInfo{Mode: fs.ModeDir | 0o755}, nil
		},
		Readlink: func(p string) (string, error) { return links[p], nil },
		ReadDir:  func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist },
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

// TestWhyNotFile: which paths a preset of another grants, on each system.
func TestWhyNotFile(t *testing.T) {
	unix := taking{bare("linux", "/home/u", "/home/u/proj", map[string]string{"/home/u/proj/link": "/home/u/.ssh"}), &policy.Policy{}, "/home/u/proj"}
	windows := taking{bare("windows", `C:\Users\U`, `C:\Users\U\proj`, map[string]string{`C:\Users\U\proj\link`: `C:\Users\U\.ssh`}), &policy.Policy{}, `C:\Users\U\proj`}
	sub := taking{windows.host, &policy.Policy{Workspace: "sub"}, windows.dir}
	const both, write, never = 2, 1, 0
	for _, c := range []struct {
		taking
		path, why string
		when      int
	}{
		{unix, "in", "", never}, {unix, ".", "", never}, {unix, "~/notes", "", never}, {unix, `a\.vscode`, "", never},
		{unix, "a/../b", "where it leads", both}, {unix, "~", "far more", both}, {unix, "/srv", "far more", both}, {unix, "/", "far more", both},
		{unix, "link/x", "sensitive", both}, {unix, "a/.vscode/x", "such a name", write}, {unix, "~/.bashrc", "run or trust", write}, {unix, "~/.npm", "package managers", write},
		{unix, "/etc/app", "the system", write}, {unix, "/usr/lib/x", "the system", write}, {unix, "/run/x", "this machine", both}, {unix, "a.pipe", "this machine", both},
		{windows, "in", "", never}, {windows, ".", "", never}, {windows, `~\notes`, "", never}, {windows, `D:\data\x`, "", never},
		{windows, `a\..\b`, "where it leads", both}, {windows, "a/../b", "where it leads", both}, {windows, "~", "far more", both}, {windows, `C:\`, "far more", both}, {windows, `d:/data`, "far more", both}, {windows, `C:\Users`, "far more", both}, {windows, `c:\users\u`, "far more", both},
		{windows, `link\x`, "sensitive", both}, {windows, `~\.SSH\id`, "sensitive", both}, {windows, `a\.VSCode\x`, "such a name", write}, {windows, `a\.git\hooks`, "such a name", write}, {windows, "a/.envrc", "such a name", write},
		{windows, `~\Documents\PowerShell`, "run or trust", write}, {windows, `~\AppData\Local\npm-cache\x`, "package managers", write}, {windows, `C:\Windows\x`, "the system", write}, {windows, `c:\program files\x`, "the system", write},
		{windows, `\\server\share\x`, "refused", both}, {windows, `a\.vscode.`, "refused", both}, {windows, `a:b`, "refused", both}, {windows, `a\pipe`, "this machine", both},
		{sub, "x", "", never}, {sub, `..\x`, "where it leads", both},
	} {
		for _, writes := range []bool{false, true} {
			want := ""
			if c.when == both || c.when == write && writes {
				want = c.why
			}
			got := c.whyNotFile(policy.FsRule{Path: c.path}, writes)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s, %s, writes %v: %q, want %q", c.host.OS, c.path, writes, got, want)
			}
		}
	}
}
