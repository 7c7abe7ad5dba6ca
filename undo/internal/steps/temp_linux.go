package steps

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TempPrefix begins the names of temporary files.
const TempPrefix = ".mcp-jail-undo."

// OpenPlace opens a place that has a temporary name.
func (r *Review) OpenPlace(path string) (*object.Place, error) {
	p, err := object.OpenPlace(path)
	if err == nil {
		p.Temp = TempName(r.session, p.Name)
	}
	return p, err
}

// TempName returns the temporary name beside a name. It is the same in each undo of the session, so
// the next run finds the file that an interrupted run has left. It depends on the nanosecond in
// which the session began, so no server or user makes a file of that name by chance.
func TempName(s *journal.Session, name string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", s.Started.UnixNano(), name))
	return TempPrefix + hex.EncodeToString(sum[:6])
}

// Knows reports whether the session touched a path. A server that still runs has seen the temporary
// names of an earlier undo, and may have moved a file of the user to one.
func (r *Review) Knows(path string) bool {
	if r.touched == nil {
		r.touched = map[string]bool{}
		for _, c := range r.session.History(journal.Selection{}).Changes {
			r.touched[c.Path] = true
		}
	}
	return r.touched[path]
}

// Prepared returns the temporary name at which an interrupted undo has left the object that moves
// back, or "".
func (r *Review) Prepared(s *Step) string {
	p, err := r.OpenPlace(s.Path)
	if err != nil {
		return ""
	}
	defer p.Close()
	temp, err := object.Look(p.Dir, p.Temp)
	if err != nil || r.Knows(p.TempOf(s.Path)) || temp.Kind != s.Want.Kind || !r.Origin.Is(temp.ID, s.Want.ID) {
		return ""
	}
	return p.TempOf(s.Path)
}

func (r *Review) findAside() {
	for i := range r.history.Changes {
		c := &r.history.Changes[i]
		if r.history.Before(c).Kind != object.Dir {
			continue
		}
		p, err := r.OpenPlace(c.Path)
		if err != nil {
			continue
		}
		temp, err := object.Look(p.Dir, p.Temp)
		if err == nil && temp.Kind != object.None && temp.Kind != object.Dir && r.Origin.IsWanted(temp.ID) && !r.Knows(p.TempOf(c.Path)) {
			r.Aside[r.Origin.FileOf(temp.ID)] = p.TempOf(c.Path)
		}
		p.Close()
	}
}

// maxScan bounds the names that are looked at to find hard links.
const maxScan = 500000

func (r *Review) scanLinks(roots []string, wanted map[object.ID]*Step) map[object.ID][]string {
	found := map[object.ID][]string{}
	left := maxScan
	for _, root := range roots {
		filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if st, err := object.LookPath(path); err == nil && wanted[r.Origin.FileOf(st.ID)] != nil {
				found[r.Origin.FileOf(st.ID)] = append(found[r.Origin.FileOf(st.ID)], path)
			}
			return nil
		})
	}
	return found
}

// leftovers adds steps that remove temporary names that an interrupted undo has left, of objects that
// are where they are to be.
func (r *Review) leftovers() {
	for id, path := range r.Aside {
		now, err := object.LookPath(path)
		if err != nil || len(r.Moved[id]) > 0 || now.Kind != object.Link && now.Nlink < 2 {
			continue
		}
		r.Steps = append(r.Steps, Step{Path: path, Action: Remove, Want: object.State{Kind: object.None, Data: object.NoData}, Now: now})
	}
	r.sortSteps()
}

func (r *Review) sortSteps() {
	slices.SortFunc(r.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	for i := range r.Steps {
		r.Paths[r.Steps[i].Path] = i
	}
}
