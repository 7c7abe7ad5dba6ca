//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRealGit(t *testing.T) {
	need(t, "node", "git")
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "GIT_CONFIG_NOSYSTEM=1")
	git := func(args ...string) {
		t.Helper()
		if out, err := w.plain(append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "T")
	git("config", "user.email", "t@example.org")
	w.plant(t, w.work, map[string]string{"a.txt": "a\n", ".git/hooks/pre-commit.sample": "#!/bin/sh\n"})
	git("add", ".")
	git("commit", "-qm", "first")
	config := read(t, filepath.Join(w.work, ".git", "config"))

	s := shell(t, w)
	s.runs("sh", "-c", "echo b >b.txt && echo more >>a.txt")
	if got := s.runs("git", "status", "--short"); !strings.Contains(got, " M a.txt\n?? b.txt\n") {
		t.Errorf("status: %q", got)
	}
	s.runs("git", "add", ".")
	s.runs("git", "commit", "-qm", "second")
	s.runs("git", "branch", "side")
	s.runs("git", "checkout", "-q", "side")
	s.runs("sh", "-c", "echo c >c.txt && git add c.txt && git commit -qm third")
	s.runs("git", "checkout", "-q", "main")
	s.runs("git", "merge", "-q", "--no-edit", "side")
	s.runs("git", "diff", "HEAD~1", "--stat")
	s.runs("git", "stash", "list")
	s.runs("git", "tag", "v1")
	if got := s.runs("git", "log", "--format=%s"); got != "third\nsecond\nfirst\n\n" {
		t.Errorf("log: %q", got)
	}
	if got := s.runs("git", "worktree", "list"); !strings.Contains(got, w.work) {
		t.Errorf("worktree list: %q", got)
	}
	if got := s.runs("git", "config", "user.name"); got != "T\n\n" {
		t.Errorf(".git/config is not readable: %q", got)
	}
	s.refused("", "git", "config", "core.fsmonitor", "evil")
	s.refused("", "sh", "-c", "echo evil >>.git/config")
	s.refused("", "sh", "-c", "echo evil >.git/hooks/pre-commit")
	s.refused("", "sh", "-c", "mv .git/hooks .git/h2")
	s.refused("", "sh", "-c", "mv .git .git2")
	s.runs("git", "gc", "-q")
	s.runs("git", "fsck")
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}

	if got := read(t, filepath.Join(w.work, ".git", "config")); got != config {
		t.Errorf(".git/config was changed: %q", got)
	}
	if hooks := snapshot(t, filepath.Join(w.work, ".git", "hooks")); hooks["pre-commit"] != "" {
		t.Errorf("a hook was planted: %q", hooks)
	}
	git("fsck", "--strict")
}
