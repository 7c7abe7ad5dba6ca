package resolve

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/git"
)

// TestGitNames checks that the files that a repository's configuration has git run or read
// are protected like that configuration.
func TestGitNames(t *testing.T) {
	const proj = "/home/u/proj/"
	for _, c := range []struct {
		config string
		named  string // files and directories; some do not exist
	}{
		{"[core]\n\thooksPath = .githooks", ".githooks .githooks/pre-commit"},
		{"[core]\n\thooksPath = ./a/../absent-hooks", "absent-hooks"},
		{"[core]\n\thooksPath = ~/proj/h\\\n x", "h%20x"},
		{"[core]\n\thooksPath = .", "pre-commit post-checkout"},
		{"[core]\n\thooksPath = \"/home/u/proj/some hooks\" ; c", "some%20hooks"},
		{"[include]\n\tpath = ../.gitshared", ".gitshared tools/from-include"},
		{"[include]\n\tpath = ../absent.inc", "absent.inc"},
		{"[includeIf \"gitdir:~/other/\"]\n\tpath = ~/proj/.gitshared", ".gitshared tools/from-include"},
		{"[core]\n\tfsmonitor = tools/watch.sh -x", "tools/watch.sh"},
		{"[core]\n\tsshCommand = ssh -F ssh/config -i key.pem", "ssh/config"},
		{"[core]\n\tsshCommand = ssh -F./ssh/config", ""},
		{"[core]\n\teditor = 'my tools/edit' -w", "my%20tools/edit"},
		{"[core]\n\tpager = tools/watch.sh | less", "tools/watch.sh"},
		{"[filter \"x\"]\n\tclean = python3 clean.py %f\n\tsmudge = node scripts/absent.mjs\n\tprocess = ./new", "clean.py scripts/absent.mjs new"},
		{"[diff \"img\"]\n\ttextconv = sh -c 'tools/watch.sh \"$0\" && ./tools/absent'", "tools/watch.sh tools/absent"},
		{"[merge \"m\"]\n\tdriver = \"\\\"$(git rev-parse --show-toplevel)\\\"/tools/watch.sh %O\"", "tools/watch.sh"},
		{"[merge \"m\"]\n\tdriver = `git rev-parse --show-toplevel`/tools/absent.sh %O", "tools/absent.sh"},
		{"[merge \"m\"]\n\tdriver = ${TOP}/tools/absent.sh $HOME/proj/tools/other.sh", "tools/absent.sh tools/other.sh"},
		{"[gpg \"ssh\"]\n\tprogram = ./sign\n\tallowedSignersFile = /home/u/proj/signers", "sign signers"},
		{"[gpg]\n\tprogram = ./sign", "sign"},
		{"[credential \"https://x.test\"]\n\thelper = !./tools/watch.sh get", "tools/watch.sh"},
		{"[alias]\n\tx = !tools/watch.sh --file=clean.py\n\ty = log tools/other", "tools/watch.sh clean.py"},
		{"[mergetool \"t\"]\n\tpath = ../proj/tools/watch.sh", "tools/watch.sh"},
		{"[init]\n\ttemplateDir = template", "template"},
		{"[remote \"o\"]\n\turl = x\n\tuploadpack = tools/watch.sh", "tools/watch.sh"},
		{"[extensions]\n\tworktreeConfig = true", "by-worktree"},
		{"[core]\n\thooksPath = .githooks # of what is pushed here", ".git/.githooks .git/.githooks/pre-receive"},
		{"[tar \"x\"]\n\tcommand = ./tools/absent\n[gc]\n\trecentObjectsHook = tools/watch.sh", "tools/absent tools/watch.sh"},
		{"[remote \"o\"]\n\turl = bare", "bare.git/config bare.git/hooks/pre-receive bare.git/remotes"},
		{"[remote \"o\"]\n\turl = https://x.test/y\n\tpushurl = file:///home/u/proj/bare.git", "bare.git/config bare.git/hooks/pre-receive"},
		{"# no remote", ".git/remotes/origin .git/branches/origin"},
	} {
		for name, write := range map[string]string{"the repository": ".:rw", "home": "~:rw", "within it": "~/proj/tools:rw"} {
			t.Run(name+" "+c.config, func(t *testing.T) {
				h := newFake(aSystem, `
					f /home/u/proj/.git/HEAD
					f /home/u/proj/.git/config.worktree [core]\nhooksPath=by-worktree\n
					f /home/u/proj/.githooks/pre-commit
					d /home/u/proj/some%20hooks
					f /home/u/proj/.gitshared [core]\neditor=tools/from-include\n
					f /home/u/proj/tools/from-include
					f /home/u/proj/tools/watch.sh
					f /home/u/proj/tools/other
					f /home/u/proj/ssh/config
					f /home/u/proj/my%20tools/edit
					f /home/u/proj/clean.py
					f /home/u/proj/bare.git/HEAD
					f /home/u/proj/bare.git/hooks/pre-receive
					d /home/u/proj/.git/branches
					f /home/u/proj/main.c`)
				h["/home/u/proj/.git/config"] = fakeFile{mode: 0o644, text: c.config + "\n"}
				p, ws := mustResolve(t, h, fsRules(write))
				for _, n := range strings.Fields(c.named) {
					file := proj + strings.ReplaceAll(n, "%20", " ")
					if _, covered := p.Find(file); !covered {
						continue // outside this grant
					}
					if p.Allows(policy.OpWrite, file) || p.Allows(policy.OpCreate, file) || p.Allows(policy.OpRemove, file) || policytest.AllowsRename(p, proj+"main.c", file) {
						t.Errorf("%s: %s; %v", file, p.RightsAt(file), ws)
					}
				}
				for _, n := range []string{"main.c", "new.c", "tools/other", "tools/new"} {
					if rights := p.RightsAt(proj + n); rights != 0 && (!p.Allows(policy.OpWrite, proj+n) || !p.Allows(policy.OpCreate, proj+n)) {
						t.Errorf("%s is out of reach", n)
					}
				}
				checkProfile(t, p)
			})
		}
	}
}

// TestGitNamesElsewhere does the same for worktrees, submodules and the user's own
// configuration.
func TestGitNamesElsewhere(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.gitconfig [core]\nhooksPath=.everywhere\n[include]\npath=proj/user.inc\n
		f /home/u/proj/user.inc
		f /home/u/proj/.git/HEAD
		f /home/u/proj/.git/config [core]\nfsmonitor=./watch\n
		f /home/u/proj/.git/worktrees/w/gitdir /home/u/w/.git\n
		f /home/u/proj/.git/worktrees/w/commondir ../..\n
		f /home/u/proj/.git/worktrees/w/config.worktree [core]\npager=./only-here\n
		f /home/u/w/.git gitdir: /home/u/proj/.git/worktrees/w\n
		f /home/u/w/watch
		f /home/u/proj/.git/modules/m/HEAD
		f /home/u/proj/.git/modules/m/config [core]\nworktree=../../../m\neditor=./edit\n
		f /home/u/proj/m/.git gitdir: ../.git/modules/m\n
		f /home/u/proj/m/edit`)
	for write, named := range map[string]string{
		".:rw":           "proj/watch proj/.everywhere proj/user.inc proj/m/edit proj/m/.everywhere",
		"~/w:rw":         "w/watch w/.everywhere w/only-here",
		".:rw ~/w:rw":    "w/watch w/only-here proj/watch",
		"~/proj/m:rw":    "proj/m/edit",
		"~/proj/.git:rw": "proj/.git/config",
	} {
		p, _ := mustResolve(t, h, fsRules(strings.Fields(write)...))
		for _, n := range strings.Fields(named) {
			if file := "/home/u/" + n; p.Allows(policy.OpWrite, file) || p.Allows(policy.OpCreate, file) {
				t.Errorf("%s: %s: %s", write, file, p.RightsAt(file))
			}
		}
	}
	// A rule that names such a file grants it.
	p, _ := mustResolve(t, h, fsRules(".:rw", ".everywhere:rw", "m/edit:rw"))
	if !p.Allows(policy.OpWrite, "/home/u/proj/m/edit") {
		t.Error("a rule that names the file does not grant it")
	}
}

// TestGitNamesOfTheUser checks that files named in the user's own git configuration are
// protected even if the grant contains no repository, because git uses them in every
// repository.
func TestGitNamesOfTheUser(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.gitconfig [core]\nhooksPath=~/hooks-of-all\neditor=./relative\n[includeIf "gitdir:~/work/"]\npath=~/work/.gitwork\n[init]\ntemplateDir=/data/template\n
		f /home/u/work/.gitwork [core]\nsshCommand=/home/u/work/bin/ssh.sh -v\n
		f /home/u/work/bin/ssh.sh
		f /home/u/work/main.c
		d /data/template`)
	for write, named := range map[string]string{
		"~:rw":      "/home/u/hooks-of-all /home/u/hooks-of-all/pre-commit /home/u/work/.gitwork /home/u/work/bin/ssh.sh",
		"~/work:rw": "/home/u/work/.gitwork /home/u/work/bin/ssh.sh",
		"/data:rw":  "/data/template /data/template/hooks/post-checkout",
	} {
		p, _ := mustResolve(t, h, fsRules(write))
		for _, file := range strings.Fields(named) {
			if p.Allows(policy.OpWrite, file) || p.Allows(policy.OpCreate, file) {
				t.Errorf("%s: %s: %s", write, file, p.RightsAt(file))
			}
		}
		for _, file := range []string{"/home/u/work/main.c", "/home/u/work/relative", "/home/u/relative"} {
			if rights := p.RightsAt(file); rights != 0 && !p.Allows(policy.OpCreate, file) {
				t.Errorf("%s: %s is out of reach", write, file)
			}
		}
	}
}

// TestGitDirectoryElsewhere checks the worktrees and submodules of a git directory that a
// link or a file named .git leads to.
func TestGitDirectoryElsewhere(t *testing.T) {
	for name, git := range map[string]string{"a link": "l /home/u/proj/.git ../proj/store", "a file": "f /home/u/proj/.git gitdir: store\\n"} {
		h := newFake(aSystem, git, `
			f /home/u/proj/store/HEAD
			f /home/u/proj/store/config
			f /home/u/proj/store/modules/m/HEAD
			f /home/u/proj/store/modules/m/config [core]\nworktree=../../../m\neditor=./edit\n
			f /home/u/proj/store/worktrees/w/commondir ../..\n
			f /home/u/proj/store/worktrees/w/gitdir /home/u/w/.git\n`)
		p, _ := mustResolve(t, h, fsRules(".:rw"))
		for _, n := range []string{"store/config", "store/hooks/x", "store/remotes/o", "store/modules/m/config", "store/modules/m/hooks/x", "store/worktrees/w/commondir", "store/worktrees/w/gitdir", "m/edit"} {
			if file := "/home/u/proj/" + n; p.Allows(policy.OpWrite, file) || p.Allows(policy.OpCreate, file) {
				t.Errorf("%s: %s: %s", name, file, p.RightsAt(file))
			}
		}
		if file := "/home/u/proj/store/modules/m/refs/remotes/o/main"; !p.Allows(policy.OpCreate, file) {
			t.Errorf("%s: %s is out of reach", name, file)
		}
	}
}

// TestGitConfigUnread checks that a configuration that cannot be read as git reads it
// leads to a warning or an error.
func TestGitConfigUnread(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/.git/config [core]\\nhooksPath=first\\n]\\neditor=./second\\n")
	p, ws := mustResolve(t, h, fsRules(".:rw"))
	if !strings.Contains(codes(ws), "git-config") || p.Allows(policy.OpCreate, "/home/u/proj/first") {
		t.Errorf("%v", ws)
	}
	h["/home/u/proj/.git/config"] = fakeFile{mode: 0o644, text: strings.Repeat("#", git.MaxConfig+1)}
	var failed *GitConfigError
	if _, _, err := resolveFake(t, h, fsRules(".:rw")); !errors.As(err, &failed) {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := resolveFake(t, h, fsRules(".:r")); err != nil {
		t.Errorf("nothing can be written: %v", err)
	}
	loop := newFake(aSystem, "f /home/u/proj/.git/config [include]\\npath=config\\n[core]\\npager=./p\\n")
	if p, _ := mustResolve(t, loop, fsRules(".:rw")); p.Allows(policy.OpCreate, "/home/u/proj/p") {
		t.Error("a configuration that includes itself")
	}
	many := newFake(aSystem, "f /home/u/proj/.git/HEAD")
	var text strings.Builder
	for i := range 2 * git.MaxConfigs {
		fmt.Fprintf(&text, "[include]\npath=c%d\n", i)
		many.add(fmt.Sprintf("f /home/u/proj/.git/c%d", i))
	}
	many["/home/u/proj/.git/config"] = fakeFile{mode: 0o644, text: text.String()}
	if _, _, err := resolveFake(t, many, fsRules(".:rw")); !errors.As(err, &failed) {
		t.Errorf("too many: %v", err)
	}
}

// TestGitDirectoryGrants tests that a rule for a git directory, or for a directory in one, protects
// what a rule for the workspace protects. The git directory can have any name, and can be made after
// the start.
func TestGitDirectoryGrants(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/.git/config
		f /home/u/proj/.git/HEAD
		f /home/u/proj/.git/worktrees/v/commondir ../..\n
		f /home/u/proj/.git/worktrees/v/modules/s/HEAD
		f /home/u/proj/.git/worktrees/v/modules/s/config
		f /home/u/proj/.git/modules/m/HEAD
		f /home/u/proj/.git/modules/m/config
		d /home/u/proj/.git/modules/m/objects
		d /home/u/proj/.git/modules/m/refs
		f /home/u/proj/.git/modules/m/modules/n/HEAD
		f /home/u/proj/.git/modules/m/modules/n/hooks/post-checkout
		f /home/u/proj/.hg/hgrc
		f /home/u/proj/.github/workflows/ci.yml
		f /home/u/proj/sub/.git gitdir: ../.git/modules/m\n
		f /home/u/proj/far/.git gitdir: /home/u/proj/store/far\n
		f /home/u/proj/store/far/HEAD
		f /home/u/proj/store/far/config
		f /home/u/proj/main.c
		f /home/u/bare/HEAD
		f /home/u/bare/config
		d /home/u/bare/objects
		d /home/u/bare/refs
		f /home/u/bare/worktrees/v/HEAD
		f /home/u/notbare/config`)
	const proj = "/home/u/proj/"
	for _, c := range []struct{ grants, held, writable string }{
		{".git", ".git/worktrees/v/modules/s/config .git/worktrees/v/modules/s/hooks/x .git/worktrees/v/modules/new .git/config .git/hooks/x .git/modules/new .git/modules/m/config .git/modules/m/hooks/x .git/modules/m/modules/n/hooks/post-checkout .git/worktrees/v/commondir .git/worktrees/new/gitdir", ".git/index .git/modules/m/index .git/worktrees/v/HEAD"},
		{".git/modules", ".git/modules/new .git/modules/m/config .git/modules/later/hooks/x", ".git/modules/m/HEAD"},
		{".git/modules/m", ".git/modules/m/config .git/modules/m/hooks/x .git/modules/m/modules/n/hooks/post-checkout .git/modules/m/modules/later/config", ".git/modules/m/index"},
		{".git/modules/m/modules/n", ".git/modules/m/modules/n/hooks/post-checkout .git/modules/m/modules/n/config", ".git/modules/m/modules/n/HEAD"},
		{".git/worktrees/v", ".git/worktrees/v/commondir .git/worktrees/v/gitdir", ".git/worktrees/v/HEAD"},
		{".hg", ".hg/hgrc .hg/sharedpath", ".hg/dirstate"},
		{".github", ".github/workflows/ci.yml .github/mcp.json", ".github/x"},
		{"sub .git/modules/m", ".git/modules/m/config sub/.git", ".git/modules/m/index"},
		{"far store", "store/far/config store/far/hooks/x store/far/worktrees/new/commondir store/far/modules/new", "store/far/HEAD store/x/config"},
		{"far store/far", "store/far/config store/far/hooks/x store/far/worktrees/new/commondir", "store/far/HEAD"},
		{"~/bare", "~/bare/config ~/bare/hooks/x ~/bare/worktrees/v/commondir ~/bare/worktrees/new/commondir ~/bare/modules/new", "~/bare/HEAD"},
		{"~/bare/worktrees", "~/bare/worktrees/v/gitdir ~/bare/worktrees/new/commondir", "~/bare/worktrees/v/HEAD"},
		{"~/notbare", "", "~/notbare/config ~/notbare/hooks/x"},
		// A rule that names it.
		{".git .git/modules/m/config", ".git/modules/m/hooks/x", ".git/modules/m/config"},
		{"~/bare ~/bare/config", "~/bare/hooks/x", "~/bare/config"},
	} {
		for _, letters := range []string{":rw", ":ru"} {
			var rules []string
			for _, g := range strings.Fields(c.grants) {
				rules = append(rules, g+letters)
			}
			p, _ := mustResolve(t, h, fsRules(rules...))
			writes := func(name string) bool {
				file := proj + name
				if rest, home := strings.CutPrefix(name, "~"); home {
					file = "/home/u" + rest
				}
				return p.Allows(policy.OpWrite, file) || p.Allows(policy.OpCreate, file)
			}
			for _, name := range strings.Fields(c.held) {
				if writes(name) {
					t.Errorf("%s%s: the server writes to %s", c.grants, letters, name)
				}
			}
			for _, name := range strings.Fields(c.writable) {
				if !writes(name) {
					t.Errorf("%s%s: the server does not write to %s", c.grants, letters, name)
				}
			}
		}
	}
}
