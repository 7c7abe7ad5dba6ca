package doctorcmd

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// macHost is a Mac with these programs.
func macHost(programs ...string) hostfs.Host {
	modes := map[string]fs.FileMode{"/": fs.ModeDir | 0o755}
	for _, p := range programs {
		modes[p] = 0o755
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			modes[dir] = fs.ModeDir | 0o755
		}
	}
	return hostfs.Host{OS: "darwin", Environ: []string{"PATH=/opt/homebrew/bin:/usr/bin:/bin"}, Lstat: func(p string) (hostfs.FileInfo, error) {
		mode, ok := modes[p]
		if !ok {
			return hostfs.FileInfo{}, fs.ErrNotExist
		}
		return hostfs.FileInfo{Mode: mode}, nil
	}}
}

// TestGitOnMac tests which git counts, and what is said of one that only asks for the developer tools.
func TestGitOnMac(t *testing.T) {
	const tool = "/Library/Developer/CommandLineTools/usr/bin/git"
	for name, c := range map[string]struct {
		programs  []string
		git, real string
	}{
		"none":                   {nil, "", ""},
		"a stand-in":             {[]string{"/usr/bin/git"}, "/usr/bin/git", ""},
		"with the tools":         {[]string{"/usr/bin/git", tool}, "/usr/bin/git", tool},
		"of Homebrew":            {[]string{"/usr/bin/git", "/opt/homebrew/bin/git"}, "/opt/homebrew/bin/git", "/opt/homebrew/bin/git"},
		"tools without the file": {[]string{tool}, "", ""},
	} {
		i := &installation{host: macHost(c.programs...)}
		if git, real := gitOnMac(&i.host, i.searchPath()); git != c.git || real != c.real {
			t.Errorf("%s: %q, %q", name, git, real)
		}
	}
	i := &installation{host: macHost("/usr/bin/git")}
	i.lookTools(t.Context())
	got := i.checkTools()
	if texts(got) != "/usr/bin/git is a stand-in of macOS that asks in a dialog to install Apple's developer tools, which are not installed" || !strings.HasPrefix(got[0].Fix, "run xcode-select --install, or") {
		t.Errorf("of a stand-in: %+v", got)
	}
	i = &installation{host: macHost()}
	if i.lookTools(t.Context()); i.tools != nil {
		t.Errorf("a Mac without git: %+v", i.tools)
	}
	i.host = macHost("/usr/bin/git")
	i.host.OS = "linux"
	if i.lookTools(t.Context()); i.tools != nil {
		t.Errorf("Linux: %+v", i.tools)
	}
}

// TestVersionOfGit tests what an answer means: only a git that a jail has started, and that failed, is a
// fault.
func TestVersionOfGit(t *testing.T) {
	for _, c := range []struct {
		answer       string
		err          error
		version, why string
	}{
		{"git version 2.39.5 (Apple Git-154)", nil, "2.39.5", ""},
		{"", &jail.HostError{}, "", ""},
		{"", errors.New("git --version: exit status 69"), "", "git does not start in a jail: git --version: exit status 69"},
	} {
		version, why := versionOfGit(c.answer, c.err)
		if version != c.version || why != c.why {
			t.Errorf("%q, %v: %q, %q", c.answer, c.err, version, why)
		}
		if got := (tool{Name: "git", Path: "/x/git", why: why}).checkGit(); (got != nil) != (c.why != "") || got != nil && (got[0].What != c.why || got[0].Stops || got[0].Fix == "") {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}
