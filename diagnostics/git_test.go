package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestGit checks that rules are about the git directory, whichever part a message names,
// unless the part is protected.
func TestGit(t *testing.T) {
	const rw = "; read = true; write = true"
	for _, tt := range []struct{ text, grant string }{
		{"fatal: not a git repository: /home/u/main/.git/worktrees/x", `path = "~/main/.git"; read = true`},
		{"fatal: Unable to create '/home/u/work/src/.git/index.lock': Permission denied", `path = "src/.git"` + rw},
		{"error: insufficient permission for adding an object to repository database src/.git/objects", `path = "src/.git"` + rw},
		{"fatal: cannot exec 'src/.git/hooks/pre-commit': Permission denied", `path = "src/.git/hooks/pre-commit"; read = true; execute = true`},
		{"error: could not lock config file src/.git/config: Read-only file system", `path = "src/.git"` + rw},
		{"fatal: git rm: 'kept/x': Permission denied", `path = "kept"` + rw},
	} {
		ev := evidence(tt.text)
		ev.Exists = host{"/home/u/main/.git/worktrees/x": true, "/home/u/work/src/.git/objects": true, "/home/u/work/src/.git/hooks/pre-commit": true, "/home/u/work/kept/x": true, "/home/u/work/.git/HEAD": true}.exists
		ev.Profile = fixture(func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/work/kept", Kind: policy.KindDir, Rights: policy.Read | policy.Create | policy.Update, Origin: policy.OriginRule})
		})
		if d := Diagnose(ev); strings.Join(d.Grant, "; ") != "[[servers.github.access.fs]]; "+tt.grant {
			t.Errorf("%s\n%s", tt.text, d.Text())
		}
	}
	for _, text := range []string{"/home/u/work/new/.git: Permission denied", "fatal: could not open 'wt/.git' for writing: Permission denied"} {
		ev := evidence(text)
		ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "mkdir", Target: "/home/u/work/new/.git"}}
		if d := Diagnose(ev); len(d.Grant) > 0 || !strings.Contains(d.Fix, "create it outside of the jail") {
			t.Errorf("%s", d.Text())
		}
	}
	ev := evidence("fatal: not a git repository (or any of the parent directories): .git")
	ev.Exists = host{"/home/u/work/.git/HEAD": true}.exists
	if d := Diagnose(ev); len(d.Grant) > 0 {
		t.Errorf("it runs in the workspace, which just is none: %s", d.Text())
	}
	ev.Profile = fixture(func(p *policy.Profile) { p.Dir, p.Entries = p.Home, p.Entries[:1] })
	if d := Diagnose(ev); d.Attribution != Likely || strings.Join(d.Grant, "; ") != `[[servers.github.access.fs]]; path = "."; read = true` {
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
	const table = "[[servers.github.access.fs]]; "
	for _, tt := range []struct {
		name, edge string
		files      host
		change     func(*Evidence)
		grant      string
		flags      string
	}{
		{"in a directory of it", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, nil, table + `path = "~/repo"; read = true; write = true`, ""},
		{"deeper", "/home/u/repo/a", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { move(ev, "/home/u/repo/a/b/c") }, table + `path = "~/repo"; read = true; write = true`, ""},
		{"without namespaces", "", host{"/home/u/repo/.git/HEAD": true}, nil, table + `path = "~/repo"; read = true; write = true`, ""},
		{"with the rights that the rule had", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.Profile.Entries[1].Rights = policy.Read | policy.Execute }, table + `path = "~/repo"; read = true; execute = true`, ""},
		{"on the command line", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.FromCommandLine, ev.Profile.Default = true, true }, "", "--workspace ~/repo"},
		{"on the command line, by flags", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.FromCommandLine = true }, "", "--write ~/repo"},
		{"under the default policy", "/home/u/repo", host{"/home/u/repo/.git/HEAD": true}, func(ev *Evidence) { ev.Profile.Default = true }, table + `path = "~/repo"; read = true; write = true`, ""},
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
		if got := strings.Join(d.Grant, "; "); got != tt.grant || strings.Join(d.Flags, " ") != tt.flags {
			t.Errorf("%s: grant %s, flags %q\n%s", tt.name, got, d.Flags, d.Text())
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
