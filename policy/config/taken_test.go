package config

import (
	"reflect"
	"testing"
)

// TestTakenBy tests what is said of lines that cannot be pasted at the end of a file.
func TestTakenBy(t *testing.T) {
	rule := "[[servers.s.access.fs]]\npath = \"x\"\n"
	for _, c := range []struct {
		file, lines string
		want        *Taken
	}{
		{"[servers.s]\n", rule, nil},
		{"[[servers.s.access.fs]]\npath = \".\"\n", rule, nil},
		{"[servers.s]\n[servers.s.access]\nfs = []\n", rule, &Taken{Name: "fs", Line: 3, List: true, Rest: []string{}}},
		{"[servers.s]\naccess.fs = []\n", rule, &Taken{Name: "fs", Line: 2, List: true, Rest: []string{}}},
		{"[servers.s]\naccess = { fs = [] }\n", rule, &Taken{Name: "fs", Line: 2, List: true, Rest: []string{}}},
		{"[servers.s]\naccess = { net = [] }\n", rule, &Taken{Name: "access", Line: 2, Rest: []string{"fs"}}},
		{"[servers]\ns = { access = { net = [] } }\n", rule, &Taken{Name: "access", Line: 2, Rest: []string{"fs"}}},
		{"[servers]\ns = { command = \"x\" }\n", rule, &Taken{Name: "s", Line: 2, Rest: []string{"access", "fs"}}},
		{"[servers.s.access]\ncommands = { sh = {} }\n", "[servers.s.access.commands.ls]\n", &Taken{Name: "commands", Line: 2, Rest: []string{"ls"}}},
		{"[servers.s.access]\ncommands = { sh = {} }\n", "[servers.s.access.commands.sh]\n", &Taken{Name: "sh", Line: 2, Rest: []string{}}},
		{"[servers.s.limits]\nmemory_mb = 1\n", "[servers.s.limits]\nmemory_mb = 2\n", &Taken{Name: "limits", Line: 1, Open: true, Rest: []string{}}},
		{"[servers.s]\n", "path = \n", nil},
	} {
		got, ok := TakenBy([]byte(c.file), c.lines)
		if ok != (c.want != nil) || ok && !reflect.DeepEqual(got, *c.want) {
			t.Errorf("%q, %q: %+v, %v", c.file, c.lines, got, ok)
		}
	}
}
