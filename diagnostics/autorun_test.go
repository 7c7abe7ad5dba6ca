package diagnostics

import "testing"

// TestProtectedParts: what the policy protects in a repository is not proposed either.
func TestProtectedParts(t *testing.T) {
	for _, name := range []string{".git/hooks/x", ".git/remotes/o", ".git/branches/o", ".hg/hgrc", ".hg/sharedpath"} {
		if !isProtectedName("/w/" + name) {
			t.Errorf("%s would be proposed", name)
		}
	}
	for _, name := range []string{".git/refs/remotes/o", ".hg/dirstate", "remotes/o"} {
		if isProtectedName("/w/" + name) {
			t.Errorf("%s is withheld", name)
		}
	}
}
