package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestPrograms: each row of programs.txt has a kind that is asked for, and a name of that kind.
func TestPrograms(t *testing.T) {
	languages := []string{"*", "shell"}
	for _, r := range programRows() {
		if r.kind == "language" {
			languages = append(languages, r.words...)
		}
	}
	rows := map[string]int{}
	for _, r := range programRows() {
		rows[r.kind]++
		names := languages
		switch r.kind {
		case "value", "bare", "package", "modules":
		case "shared":
			names = []string{"linux", "darwin"}
		default:
			names = r.names
		}
		if i := slices.IndexFunc(r.names, func(n string) bool { return !slices.Contains(names, n) }); i >= 0 {
			t.Errorf("%s %s: %s is not known", r.kind, r.names, r.names[i])
		}
	}
	for _, kind := range strings.Fields("language shell value bare package modules project shared variable block host header manager") {
		if rows[kind] == 0 {
			t.Errorf("there is no row of %s", kind)
		}
		delete(rows, kind)
	}
	if len(rows) > 0 {
		t.Errorf("nobody asks for %v", rows)
	}
	for name, want := range map[string]string{"python3.11": "python", "pypy3": "python", "node.exe": "node", "tsx": "node", "nodejs": "node", "bash": "", "nodemon": ""} {
		if got := InterpreterFamily(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
