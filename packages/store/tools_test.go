package store

import (
	"path/filepath"
	"slices"
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
	p := ToolPins{File: filepath.Join(dir, FileName), Entry: e}
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
	before := *p.Entry
	for what, update := range map[string]func(*Entry){
		"another version": func(e *Entry) { e.Version = "2.0.0" },
		"other files":     func(e *Entry) { e.Files = strings.Repeat("0", len(e.Files)) },
	} {
		updated := before
		update(&updated)
		p.Entry = &updated
		testkit.Must(t, p.Add("y", mustPin(t, `{"name":"z"}`)))
		testkit.Equal(t, what, now(t, p), "")
	}
}

// TestAcceptTools: the pins of a package go, by its own name or by what lines ask for.
func TestAcceptTools(t *testing.T) {
	for _, name := range []string{"files@latest", "@a/files"} {
		p := pinnedPackage(t, map[string]*toolpin.Pin{"x": toolA(t, "A"), "y": toolA(t, "Y")})
		testkit.Fails(t, name, testkit.ErrorOf(AcceptTools(p.File, "files")), "no package files is in")
		testkit.Equal(t, name, now(t, p), `x"A" y"Y"`)
		if removed, err := AcceptTools(p.File, name); err != nil || !slices.Contains(removed, p.Entry.Key) {
			t.Errorf("%s: %v, %v", name, removed, err)
		}
		testkit.Equal(t, name, now(t, p), "")
		if removed, err := AcceptTools(p.File, "files@latest"); err != nil || removed != nil {
			t.Errorf("%s: %v, %v", name, removed, err)
		}
	}
}
