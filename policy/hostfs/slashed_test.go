package hostfs

import "testing"

// TestWithin: each system compares paths by its own rules.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		system, path, dir string
		want              bool
	}{
		{"linux", "/a/b", "/a", true},
		{"linux", "/A/b", "/a", false},
		{"linux", `/a\b`, "/a", false},
		{"darwin", "/a/b", "/a", true},
		{"windows", `C:\A\b`, `c:\a`, true},
		{"windows", "C:/a/b", `C:\a`, true},
		{"windows", `C:\ab`, `C:\a`, false},
	} {
		if Within(c.system, c.path, c.dir) != c.want {
			t.Errorf("%s: %s in %s: want %t", c.system, c.path, c.dir, c.want)
		}
	}
}

// TestCutHome: ~\ is the home directory on Windows, and a name on other systems.
func TestCutHome(t *testing.T) {
	for _, c := range []struct {
		system, path, rest string
		ok                 bool
	}{
		{"linux", "~/a", "a", true},
		{"linux", `~\a`, `~\a`, false},
		{"windows", "~/a", "a", true},
		{"windows", `~\a\b`, `a\b`, true},
		{"windows", "~a", "~a", false},
		{"windows", `C:\~\a`, `C:\~\a`, false},
	} {
		if rest, ok := CutHome(c.system, c.path); rest != c.rest || ok != c.ok {
			t.Errorf("%s: %s: %q, %t", c.system, c.path, rest, ok)
		}
	}
}

// TestHasProtectedName: the separators of a system are between the names, in every spelling of it.
func TestHasProtectedName(t *testing.T) {
	for p, want := range map[string][2]bool{ // on Linux, on Windows
		"/w/.vscode/x": {true, true}, `C:\w\.vscode\x`: {false, true}, `c:/w\.GIT/Hooks`: {false, true}, `C:\w\.envrc.`: {false, true}, `C:\w\.envrc::$DATA`: {false, true},
		"/C:/w/.mcp.json": {true, true}, `C:\w\.git`: {false, false}, `C:\w\vscode`: {false, false}, "": {false, false},
	} {
		for i, system := range []string{"linux", "windows"} {
			if got := HasProtectedName(system, p); got != want[i] {
				t.Errorf("%s, %s: %v", system, p, got)
			}
		}
	}
}
