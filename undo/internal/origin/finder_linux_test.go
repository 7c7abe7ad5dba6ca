package origin

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TestFileOf follows files to those for which undos have made them, also in a circle.
func TestFileOf(t *testing.T) {
	a, b, c, other := object.ID{Ino: 1}, object.ID{Ino: 2}, object.ID{Ino: 3}, object.ID{Ino: 4}
	f := &Finder{replaced: map[object.ID]object.ID{b: a, c: b}, wanted: map[object.ID]bool{a: true}}
	if f.FileOf(c) != a || f.FileOf(other) != other || !f.Is(c, a) || f.Is(other, a) || !f.IsWanted(c) || f.IsWanted(other) {
		t.Error("the third file does not stand for the first one")
	}
	f.wanted[b] = true
	if f.FileOf(c) != b || !f.standsFor(c, a) {
		t.Error("a file that is wanted itself does not stand for itself")
	}
	if !f.standsFor(c, b) || !f.standsFor(b, b) || f.standsFor(b, c) || f.standsFor(other, a) {
		t.Error("a file stands for one that it has not replaced, or not for one that itself replaced another")
	}
	f = &Finder{replaced: map[object.ID]object.ID{a: b, b: a}}
	if f.Is(a, other) {
		t.Error("in a circle, a file stands for one that is not in it")
	}
}

// TestChangedSince tests why what is at a path is not what the session left.
func TestChangedSince(t *testing.T) {
	start := time.Now().Add(-time.Hour)
	left := object.State{Kind: object.File, Size: 1, Mtime: 2, Ctime: start.UnixNano(), ID: object.ID{Ino: 1}, Nlink: 1}
	later := left
	later.Size, later.Ctime = 2, time.Now().UnixNano()
	touched := left
	touched.Ctime++
	gone := object.State{Kind: object.None}
	for name, c := range map[string]struct {
		change journal.Change
		now    object.State
		gap    string
		why    string
	}{
		"as it was left":      {journal.Change{Known: true, After: left}, left, "", ""},
		"removed":             {journal.Change{Known: true, After: left}, gone, "", ""},
		"changed":             {journal.Change{Known: true, After: left}, later, "", "it was changed after the server's last change"},
		"touched":             {journal.Change{Known: true, After: left}, touched, "", "it may have been changed"},
		"made again":          {journal.Change{Known: true, After: gone}, later, "", "it was made after the server had removed it"},
		"a later call":        {journal.Change{Known: true, After: left, Later: 3}, later, "", "a later call (3)"},
		"open":                {journal.Change{Running: true}, later, "", "open for writing"},
		"a gap":               {journal.Change{}, later, "a reason", "a reason"},
		"killed, in its life": {journal.Change{Alive: time.Now().UnixNano()}, later, "", ""},
		"killed, and later":   {journal.Change{Alive: start.UnixNano()}, later, "", "after the session was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Finder{session: &journal.Session{Started: start}, history: &journal.History{Gap: c.gap}}
			if why := f.ChangedSince(&c.change, &c.now); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%q", why)
			}
		})
	}
}
