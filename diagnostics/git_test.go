package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestGit checks that rules are about the git directory, whichever part a message names,
// unless the part is protected.
func TestGit(t *testing.T) {
	for _, tt := range []struct{ text, grant string }{
		{"fatal: not a git repository: /home/u/main/.git/worktrees/x", "--read ~/main/.git"},
		{"fatal: Unable to create '/home/u/work/src/.git/index.lock': Permission denied", "--write src/.git"},
		{"error: insufficient permission for adding an object to repository database src/.git/objects", "--write src/.git"},
		{"fatal: cannot exec 'src/.git/hooks/pre-commit': Permission denied", "--execute src/.git/hooks/pre-commit"},
		{"error: could not lock config file src/.git/config: Read-only file system", "--write src/.git"},
		{"fatal: git rm: 'kept/x': Permission denied", "--write kept"},
	} {
		ev := evidence(tt.text)
		ev.Exists = host{"/home/u/main/.git/worktrees/x": true, "/home/u/work/src/.git/objects": true, "/home/u/work/src/.git/hooks/pre-commit": true, "/home/u/work/kept/x": true, "/home/u/work/.git/HEAD": true}.exists
		ev.Profile = fixture(func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/work/kept", Kind: policy.KindDir, Rights: policy.Read | policy.Create | policy.Update, Origin: policy.OriginRule})
		})
		if d := Diagnose(ev); strings.Join(d.Words, " ") != tt.grant {
			t.Errorf("%s\n%s", tt.text, d.Text())
		}
	}
	for _, text := range []string{"/home/u/work/new/.git: Permission denied", "fatal: could not open 'wt/.git' for writing: Permission denied"} {
		ev := evidence(text)
		ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "mkdir", Target: "/home/u/work/new/.git"}}
		if d := Diagnose(ev); len(d.Words) > 0 || !strings.Contains(advised(d), "create it outside of the jail") {
			t.Errorf("%s", d.Text())
		}
	}
	ev := evidence("fatal: not a git repository (or any of the parent directories): .git")
	ev.Exists = host{"/home/u/work/.git/HEAD": true}.exists
	if d := Diagnose(ev); len(d.Words) > 0 {
		t.Errorf("it runs in the workspace, which just is none: %s", d.Text())
	}
	ev.Profile = fixture(func(p *policy.Profile) { p.Dir, p.Entries = p.Home, p.Entries[:1] })
	if d := Diagnose(ev); d.Attribution != Likely || strings.Join(d.Words, " ") != `--read .` {
		t.Errorf("%s", d.Text())
	}
}

// TestGitBelow covers a repository above the granted directory, with and without the mount
// point where git stopped.
func TestGitBelow(t *testing.T) {
	said := func(edge string) string {
		if edge == "" {
			return "fatal: not a git repository (or any of the parent directories): .git"
		}
		return "fatal: not a git repository (or any parent up to mount point " + edge + ")\nStopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set)."
	}
	for _, tt := range []struct {
		name, edge string
		files      host
		change     func(*Evidence)
		grant      string
		flags      string
	}{
		{"in a directory of it", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, nil, "--write ~/repo", ""},
		{"deeper", "/home/u/repo/a", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { move(ev, "/home/u/repo/a/b/c") }, "--write ~/repo", ""},
		{"without namespaces", "", host{"/home/u/repo/.git/HEAD": true}, nil, "--write ~/repo", ""},
		{"with the rights that the rule had", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.Profile.Entries[1].Rights = policy.Read | policy.Execute }, "--execute ~/repo", ""},
		{"on the command line", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.FromCommandLine, ev.Profile.Default = true, true }, "", "--workspace ~/repo"},
		{"on the command line, by flags", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.FromCommandLine = true }, "", "--write ~/repo"},
		{"under the default policy", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.Profile.Default = true }, "--write ~/repo", ""},
		{"the home is one", "/home/u/repo", host{"/home/u/.git/HEAD": true}, nil, "", ""},
		{"there is none", "/home/u/repo", host{"/home/u/repo/x": true}, nil, "", ""},
		{"it looked elsewhere", "/", host{"/home/u/repo/.git/HEAD": true}, nil, "", ""},
		{"below where it gave up", "/home/u", host{"/home/u/repo/.git/HEAD": true}, nil, "", ""},
	} {
		ev := evidence(said(tt.edge))
		ev.Exists = tt.files.exists
		move(&ev, "/home/u/repo/sub")
		if tt.change != nil {
			tt.change(&ev)
		}
		d := Diagnose(ev)
		if got := strings.Join(d.Words, " "); got != tt.grant+tt.flags {
			t.Errorf("%s: grant %s\n%s", tt.name, got, d.Text())
		}
		if tt.grant+tt.flags != "" && (d.Attribution != Likely || !strings.Contains(d.Cause, `it is "~/repo", which the policy does not grant`)) {
			t.Errorf("%s: %s", tt.name, d.Text())
		}
	}
}

// move makes dir the workspace.
func move(ev *Evidence, dir string) {
	ev.Profile = fixture(func(p *policy.Profile) {
		p.Dir, p.Workspace = dir, dir
		p.Entries = []policy.Entry{p.Entries[0], {Path: dir, Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule}}
	})
}
