package diagnostics

import (
	"strings"
	"testing"
)

// TestDirectoryAboveUnprotected checks that a directory does not count as a protected name
// because a protected name could be created in it.
func TestDirectoryAboveUnprotected(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/home/u/work/src/x.rs'")
	ev.Profile.Unprotected = append(ev.Profile.Unprotected, "/home/u/work/src/gen/.vscode")
	if d := Diagnose(ev); len(d.Words) == 0 || strings.Contains(told(d), "protected name") {
		t.Errorf("%s", d.Text())
	}
}

// TestNewRepository tests that no line lets a server make a directory into a repository. The control: a
// directory of git that exists.
func TestNewRepository(t *testing.T) {
	for _, text := range []string{"EACCES: permission denied, open '/home/u/.git/x'", "EACCES: permission denied, mkdir '/home/u/docs/.git/objects'", "EROFS: read-only file system, open '/home/u/docs/.git/a/b'"} {
		for _, there := range []bool{false, true} {
			ev := evidence(text)
			ev.Exists = func(path string) bool {
				if strings.Contains(path, "/.git") {
					return there && strings.HasSuffix(strings.TrimSuffix(path, "/."), "/.git")
				}
				return someHost.exists(path)
			}
			if d := Diagnose(ev); len(d.Words) > 0 && !there {
				t.Errorf("%s: %v\n%s", text, there, d.Text())
			}
		}
	}
}
