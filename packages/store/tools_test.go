package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// pinnedPackage returns the pins of a package in a lock file of its own.
func pinnedPackage(t *testing.T, pins map[string]*toolpin.Pin) ToolPins {
	dir := t.TempDir()
	e := anEntry(t, "files@latest")
	e.Pins = pins
	p := ToolPins{File: filepath.Join(dir, FileName), Proposed: filepath.Join(dir, "state", ProposedName), Entry: e}
	if err := Update(p.File, func(f *File) error {
		if err := f.Set(anEntry(t, "other")); err != nil {
			return err
		}
		return f.Set(e)
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// now returns the descriptions of the tool a that are pinned, by the names of the pins.
func now(t *testing.T, p ToolPins) string {
	t.Helper()
	pins := testkit.Get(p.Pinned(true))(t)
	var all []string
	for _, name := range []string{"x", "y"} {
		if pin := pins[name]; pin != nil {
			definition := strings.TrimPrefix(string(pin.Tools[0].Definition), `{"description":`)
			all = append(all, name+strings.TrimSuffix(definition, `,"name":"a"}`))
		}
	}
	return strings.Join(all, " ")
}

func toolA(t *testing.T, description string) *toolpin.Pin {
	return mustPin(t, `{"name":"a","description":"`+description+`"}`)
}

// TestToolPins: what is new is added, what contradicts is not, and the start's pins stay.
func TestToolPins(t *testing.T) {
	p := pinnedPackage(t, nil)
	for _, step := range []struct {
		name string
		pin  *toolpin.Pin
		want string
	}{
		{"x", toolA(t, "A"), `x"A"`},
		{"x", toolA(t, "B"), `x"A"`},
		{"y", toolA(t, "A"), `x"A"`}, // the same list is pinned already
		{"y", toolA(t, "B"), `x"A"`},
	} {
		testkit.Must(t, p.Add(step.name, step.pin))
		testkit.Equal(t, step.name, now(t, p), step.want)
	}
	if pins, err := p.Pinned(false); pins != nil || err != nil {
		t.Errorf("%v, %v", pins, err)
	}
	updated := *p.Entry
	updated.Version = "2.0.0"
	p.Entry = &updated
	testkit.Must(t, p.Add("y", mustPin(t, `{"name":"z"}`)))
	testkit.Equal(t, "an updated entry", now(t, p), "")
}

// TestAcceptTools: what was proposed is pinned, once; without a proposal the pins go.
func TestAcceptTools(t *testing.T) {
	p := pinnedPackage(t, map[string]*toolpin.Pin{"x": toolA(t, "A"), "y": toolA(t, "Y")})
	testkit.Must(t, p.Propose("x", toolA(t, "B")))
	for _, step := range []struct{ name, want, pinned string }{
		{"files", `no package files is in`, `x"A" y"Y"`},
		{"files@latest", `tool "a" description: "A" → "B"`, `x"B" y"Y"`},
		{"@a/files", `the next session pins`, ""},
		{"files@latest", ``, ""},
	} {
		changes, err := AcceptTools(p.File, p.Proposed, step.name)
		got := strings.Join(changes, "\n")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, step.want) || step.want == "" && got != "" {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		testkit.Equal(t, fmt.Sprintf("%s: … is pinned", step.name), now(t, p), step.pinned)
	}
}

// TestAcceptStale: a proposal for another version is not accepted.
func TestAcceptStale(t *testing.T) {
	p := pinnedPackage(t, map[string]*toolpin.Pin{"x": toolA(t, "A")})
	old := *p.Entry
	old.Version = "0.9.0"
	testkit.Must(t, (ToolPins{p.File, p.Proposed, &old}).Propose("x", toolA(t, "B")))
	testkit.Must(t, testkit.ErrorOf(AcceptTools(p.File, p.Proposed, "files@latest")))
	testkit.Equal(t, "is pinned", now(t, p), "")
}
