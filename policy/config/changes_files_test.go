package config

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestChangesOfNarrowerRules checks that the rights count which rules give together, and not their
// texts: a file may drop a rule that narrowed another, or repeat one after it.
func TestChangesOfNarrowerRules(t *testing.T) {
	for _, c := range []struct {
		name, users, project string
		want                 []Change
	}{
		{"a narrower rule is dropped", `{ path = ".", read = true, write = true }, { path = "docs", read = true }`,
			`{ strategy = "replace", value = [{ path = ".", read = true, write = true }] }`, nil},
		{"nothing changes", `{ path = ".", read = true, write = true }`, `[{ path = ".", read = true, write = true }]`, nil},
		{"a loss", `{ path = ".", read = true }, { path = "docs", read = true, write = true }`,
			`{ strategy = "replace", value = [{ path = ".", read = true }] }`, []Change{{"no longer: docs (read write)", false}}},
		{"a right is exchanged", `{ path = ".", read = true }, { path = "docs", update = true }`,
			`{ strategy = "replace", value = [{ path = ".", read = true }] }`, []Change{{"no longer: docs (update)", false}}},
	} {
		users := "[servers.s]\ncommand = 'x'\naccess.fs = [" + c.users + "]\n"
		got := changesOf(t, users, "[servers.s]\naccess.fs = "+c.project+"\n").Changes
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestProjectsPreset checks that a preset which a project's file names lifts nothing that the layers
// below refuse. Control: the user's own preset holds as it is.
func TestProjectsPreset(t *testing.T) {
	users := "[servers.s]\ncommand = 'x'\nhome = 'private'\nlimits.memory_mb = 5000\npin_tools = 'enforce'\n"
	memory, off := 9000, policy.PinOff
	below := &Server{Home: "real", PinTools: off, Limits: LimitsTable{MemoryMB: &memory}}
	for _, project := range []string{"", "[servers.s]\ncommand = 'y'\npreset = 'p'\n", "[servers.s]\npreset = 'p'\n"} {
		users := users
		if project == "" {
			users = "[servers.s]\ncommand = 'x'\npreset = 'p'\n"
		}
		o, _ := layersIn(t)
		testkit.WriteFile(t, o.User, users)
		o.Project = []byte("version = 1\n" + project)
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		c.LayBelow("s", below)
		p, err := c.Policy("s", "")
		if err != nil {
			t.Fatal(err)
		}
		weak := p.HomeReal && p.Limits.MemoryMB == memory && p.Packages.PinTools == off
		held := !p.HomeReal && p.Limits.MemoryMB <= 5000 && p.Packages.PinTools == policy.PinEnforce
		if project == "" && !weak || project != "" && !held {
			t.Errorf("project %q: home real %v, %d MB, pin_tools %s", project, p.HomeReal, p.Limits.MemoryMB, p.Packages.PinTools)
		}
	}
	if below.Home != "real" || *below.Limits.MemoryMB != memory {
		t.Error("the preset's own table was changed")
	}
}
