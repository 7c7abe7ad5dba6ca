//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// repository makes a repository with one commit, outside any jail, and returns a function
// that runs git in it.
func repository(t *testing.T, w *world, dir string) (git func(args ...string)) {
	t.Helper()
	git = func(args ...string) {
		t.Helper()
		cmd := w.plain(append([]string{"git", "-C", dir}, args...)...)
		cmd.Env = append(slices.Clip(w.env), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	w.plant(t, dir, map[string]string{"a.txt": "a\n"})
	git("init", "-q", "-b", "main")
	git("config", "user.name", "T")
	git("config", "user.email", "t@example.org")
	git("add", ".")
	git("commit", "-qm", "first")
	return git
}

// TestGit tests the usual git commands under the default policy, and that the server
// cannot change hooks and configuration.
func TestGit(t *testing.T) {
	need(t, "git")
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "GIT_CONFIG_NOSYSTEM=1")
	w.plant(t, w.work, map[string]string{".git/hooks/pre-commit.sample": "#!/bin/sh\n"})
	git := repository(t, w, w.work)
	config := testkit.ReadFile(t, filepath.Join(w.work, ".git", "config"))

	s := execSession(t, w)
	s.mustRun("sh", "-c", "echo b >b.txt && echo more >>a.txt")
	if got := s.mustRun("git", "status", "--short"); !strings.Contains(got, " M a.txt\n?? b.txt\n") {
		t.Errorf("status: %q", got)
	}
	s.mustRun("git", "add", ".")
	s.mustRun("git", "commit", "-qm", "second")
	s.mustRun("git", "branch", "side")
	s.mustRun("git", "checkout", "-q", "side")
	s.mustRun("sh", "-c", "echo c >c.txt && git add c.txt && git commit -qm third")
	s.mustRun("git", "checkout", "-q", "main")
	s.mustRun("git", "merge", "-q", "--no-edit", "side")
	s.mustRun("git", "diff", "HEAD~1", "--stat")
	s.mustRun("git", "stash", "list")
	s.mustRun("git", "tag", "v1")
	if got := s.mustRun("git", "log", "--format=%s"); got != "third\nsecond\nfirst\n\n" {
		t.Errorf("log: %q", got)
	}
	if got := s.mustRun("git", "worktree", "list"); !strings.Contains(got, w.work) {
		t.Errorf("worktree list: %q", got)
	}
	if got := s.mustRun("git", "config", "user.name"); got != "T\n\n" {
		t.Errorf(".git/config is not readable: %q", got)
	}
	s.mustFail("", "git", "config", "core.fsmonitor", "evil")
	s.mustFail("", "sh", "-c", "echo evil >>.git/config")
	s.mustFail("", "sh", "-c", "echo evil >.git/hooks/pre-commit")
	s.mustFail("", "sh", "-c", "mv .git/hooks .git/h2")
	s.mustFail("", "sh", "-c", "mv .git .git2")
	s.mustRun("git", "gc", "-q")
	s.mustRun("git", "fsck")
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}

	if got := testkit.ReadFile(t, filepath.Join(w.work, ".git", "config")); got != config {
		t.Errorf(".git/config was changed: %q", got)
	}
	if hooks := snapshot(t, filepath.Join(w.work, ".git", "hooks")); hooks["pre-commit"] != "" {
		t.Errorf("a hook was planted: %q", hooks)
	}
	git("fsck", "--strict")
}

// TestGitWorktree tests the recipe of a worktree, whose state is in its main repository.
// It needs two grants. Hooks and configuration stay protected in both.
func TestGitWorktree(t *testing.T) {
	need(t, "git")
	t.Parallel()
	worktree := func(t *testing.T, w *world) recipe {
		project := filepath.Join(w.base, "project")
		git := repository(t, w, project)
		git("worktree", "add", "-q", w.work, "-b", "feature")
		return execRecipe(t, "worktree", "/home/me/feature", w.work, "/home/me/project", project)
	}
	checkRecipe(t, worktree, func(t *testing.T, w *world, s *clientSession) toolResult {
		r := s.tool("run", map[string]any{"argv": []string{"sh", "-ec", source(t, "worktree.sh")}})
		git := filepath.Join(w.base, "project", ".git")
		for _, script := range []string{
			"echo gitdir: /tmp >.git",
			"mv .git .g",
			"git config core.fsmonitor evil",
			"echo evil >" + git + "/hooks/pre-commit",
			"echo evil >>" + git + "/config",
			"echo /tmp >" + git + "/worktrees/work/commondir",
			"mv " + git + "/worktrees " + git + "/w",
		} {
			s.mustFail("", "sh", "-c", script)
		}
		return r
	})
}

const hook = "#!/bin/sh\necho the hook ran\n! test -e stop\n"

// TestGitHooks tests that hooks run in the jail if a rule lets the server execute them,
// that git cannot commit without such a rule, and that the server can never write them.
func TestGitHooks(t *testing.T) {
	need(t, "git")
	t.Parallel()
	hooks := func(t *testing.T, w *world) recipe {
		repository(t, w, w.work)
		must(t, testkit.WriteProgram(filepath.Join(w.work, ".git", "hooks", "pre-commit"), []byte(hook)))
		return execRecipe(t, "hooks")
	}
	checkRecipe(t, hooks, func(t *testing.T, w *world, s *clientSession) toolResult {
		r := s.tool("run", map[string]any{"argv": []string{"sh", "-c", `
			out=$(git commit --allow-empty -m next 2>&1) && case $out in *"the hook ran"*) exit 0 ;; esac
			echo "$out"
			exit 1
		`}})
		s.mustFail("", "sh", "-c", "echo evil >.git/hooks/pre-commit")
		s.mustFail("", "sh", "-c", "echo evil >.git/hooks/post-commit")
		s.mustFail("", "mv", ".git/hooks", ".git/h")
		if !r.IsError {
			s.mustRun("touch", "stop") // makes the hook fail, and so the commit
			s.mustFail("the hook ran", "git", "commit", "--allow-empty", "-m", "x")
		}
		if got := testkit.ReadFile(t, filepath.Join(w.work, ".git", "hooks", "pre-commit")); got != hook {
			t.Errorf("the hook was changed: %q", got)
		}
		return r
	})
}

// TestGitBelowRepository tests that a server which was granted a part of a repository
// gets advice with which git finds the repository.
func TestGitBelowRepository(t *testing.T) {
	need(t, "git")
	t.Parallel()
	w := newWorld(t)
	repository(t, w, w.work)
	sub := filepath.Join(w.work, "sub")
	must(t, os.Mkdir(sub, 0o755))
	status := func(flags ...string) toolResult {
		t.Helper()
		cmd := w.jail(append(append([]string{"--name", "below"}, flags...), "--", installed(t, execServer))...)
		cmd.Dir = sub
		s := open(t, cmd, nil)
		defer s.close()
		return s.tool("run", map[string]any{"argv": []string{"git", "status", "--short"}})
	}
	got := status()
	said := lastCommand.FindStringSubmatch(got.texts())
	if !got.IsError || said == nil {
		t.Fatalf("what is said of it: %s", got.texts())
	}
	if d := w.why(t, said[1]); d.Attribution != "likely" || !strings.Contains(d.Cause, "git's repository is ") {
		t.Errorf("%+v", d)
	}
	if got := status("--workspace", w.work); got.IsError {
		t.Errorf("with what is proposed: %s", got.texts())
	}
	rules := func(path string) string {
		return "version = 1\n[servers.below]\ncommand = \"" + installed(t, execServer) + "\"\nworkspace = \"" + sub + "\"\n[[servers.below.access.fs]]\npath = \"" + path + "\"\nread = true\n"
	}
	use := useRun("git", "status", "--short")
	if got := w.attempt(t, "below", rules("."), use); !got.IsError {
		t.Errorf("it works as it is: %s", got.texts())
	}
	grant := lastGrant(t, w, "below")
	if want := "[[servers.below.access.fs]]\npath = \"" + w.work + "\"\nread = true"; strings.TrimSpace(grant) != want {
		t.Errorf("proposed\n%s\nwant\n%s", grant, want)
	}
	if got := w.attempt(t, "below", rules(".")+grant, use); got.IsError {
		t.Errorf("with\n%s\nstill %s", grant, got.texts())
	}
}

// TestGitConfig tests that git can replace its configuration by a rename if a rule names
// that file.
func TestGitConfig(t *testing.T) {
	need(t, "git")
	t.Parallel()
	settings := func(t *testing.T, w *world) recipe {
		repository(t, w, w.work)
		return execRecipe(t, "settings")
	}
	checkRecipe(t, settings, useRun("sh", "-ec", `
		git config user.name Somebody
		git remote add origin /nowhere
		git config --unset user.email
		test "$(git config user.name)" = Somebody
	`))
	// The diagnosis never proposes write access to files that the host's git obeys.
	w := newWorld(t)
	r := settings(t, w)
	got := w.attempt(t, r.name, r.config(r.access[0]), useRun("git", "config", "user.name", "Somebody"))
	if d := w.why(t, r.name); !got.IsError || len(d.Grant) > 0 || !strings.Contains(got.texts(), "mcp-jail does not suggest allowing it") || !strings.Contains(d.Cause, ".git/config") {
		t.Errorf("%s\n%+v", got.texts(), d)
	}
}

// TestGitNewRepository tests that the server cannot create a repository in the workspace,
// where the host's git would run its hooks, or a worktree whose .git points elsewhere. In
// the private HOME and in /tmp it can.
func TestGitNewRepository(t *testing.T) {
	need(t, "git")
	t.Parallel()
	w := newWorld(t)
	repository(t, w, w.work)
	s := execSession(t, w)
	const outside = "create it outside the jail"
	s.mustFail(outside, "git", "init", "new")
	s.mustFail(outside, "git", "clone", "-q", ".", "cloned")
	s.mustFail(outside, "git", "worktree", "add", "wt", "-b", "side")
	s.mustFail(outside, "sh", "-c", "git -c protocol.file.allow=always submodule add ./. sub")
	s.mustRun("sh", "-ec", "git clone -q . ~/cloned; cd ~/cloned; git config a.b c; git log; git worktree add -q ../wt -b side; cd ../wt; git status; rm -rf ~/cloned ~/wt")
	s.mustRun("git", "init", "-q", "/tmp/new")
	s.close()
	for name := range snapshot(t, w.work) {
		if strings.Contains(name, "/.git") || strings.HasPrefix(name, ".gitm") {
			t.Errorf("%s was left", name)
		}
	}
}
