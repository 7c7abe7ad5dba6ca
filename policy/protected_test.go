package policy

import "testing"

func TestHasProtectedName(t *testing.T) {
	for _, name := range []string{
		"/w/.git/hooks/x", "/w/.git/remotes/o", "/w/.git/branches/o", "/w/.hg/hgrc", "/w/.hg/sharedpath",
		"/w/.vscode", "/w/a/.vscode/tasks.json", "/w/.GIT/Hooks", "/w/.github/workflows/x.yml",
	} {
		if !HasProtectedName(name) {
			t.Errorf("%s has no protected file", name)
		}
	}
	for _, name := range []string{
		"/", "", "/w/.git", "/w/.git/refs/remotes/o", "/w/.hg/dirstate", "/w/remotes/o", "/w/.github/FUNDING.yml", "/w/hooks",
	} {
		if HasProtectedName(name) {
			t.Errorf("%s has a protected file", name)
		}
	}
}
