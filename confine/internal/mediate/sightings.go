package mediate

import (
	"path"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// sightings counts what the server does until the launcher asks to begin afresh. The server
// decides how much that is, so its memory and its events have bounds: see spec.MaxSighted.
type sightings struct {
	seen  map[spec.Sighting]int // sightings since the event that reported the first
	in    map[spec.Sighting]int // different names in a directory, by crowd
	bytes int                   // of the strings in seen and in
}

// add counts a sighting. If it is new, report is set, and the caller reports as: the sighting, or
// the one that stands for many.
func (l *sightings) add(s spec.Sighting) (as spec.Sighting, report bool) {
	if l.seen == nil {
		l.seen, l.in = map[spec.Sighting]int{}, map[spec.Sighting]int{}
	}
	as = s
	if _, again := l.seen[s]; !again {
		as = l.place(s)
	}
	if _, again := l.seen[as]; again {
		l.seen[as]++
		return as, false
	}
	l.seen[as] = 0
	return as, true
}

// place returns the sighting as which a new one is counted: itself, that of its directory, or
// that of all others.
func (l *sightings) place(s spec.Sighting) spec.Sighting {
	others := spec.Sighting{Axis: s.Axis, Operation: s.Operation, Target: policy.DenialOthers}
	all, isPath := crowd(s)
	if isPath {
		n, known := l.in[all]
		if n >= spec.MaxSightedIn {
			if _, again := l.seen[all]; again || l.fits(all) {
				return all
			}
			return others
		}
		if !known && !l.fits(all) {
			return others
		}
	}
	if !l.fits(s) {
		return others
	}
	if isPath {
		l.in[all]++
	}
	return s
}

// fits reports whether there is room for one more, and takes it.
func (l *sightings) fits(s spec.Sighting) bool {
	size := len(s.Target) + len(s.Arguments)
	if len(l.seen) >= spec.MaxSighted || l.bytes+size > spec.MaxSightedBytes {
		return false
	}
	l.bytes += size
	return true
}

// crowd returns the sighting that stands for many names in the directory of one. ok is false if the
// target is not a path.
func crowd(s spec.Sighting) (all spec.Sighting, ok bool) {
	if s.Axis != policy.AxisFs || !path.IsAbs(s.Target) || s.Target == "/" {
		return s, false
	}
	s.Target, s.Arguments, s.Seen = path.Dir(s.Target), "", s.Seen|spec.SeenDir
	if s.Operation == policy.OpMkdir.String() {
		s.Operation = policy.OpCreate.String() // "mkdir" would mean the directory itself
	}
	return s, true
}

// flush returns an event for each sighting that came again, and forgets all.
func (l *sightings) flush() (all []spec.Event) {
	for s, again := range l.seen {
		if again > 0 {
			all = append(all, s.Event(again))
		}
	}
	*l = sightings{}
	return all
}
