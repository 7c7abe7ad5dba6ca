package keeper

import (
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// mark is what the keeper knows of a path.
type mark struct {
	kept       bool // it has a record of what was there
	missed     bool // that record could not be written
	pending    bool // it may change; there is no record yet of what is left
	unknown    bool // it could not be looked at
	touched    time.Time
	last       object.State   // what was left there; valid if !pending and !unknown, or seen
	seen       bool           // it is pending, and was last when it was looked at
	candidates []object.State // while it is pending: the objects that the server may have left there
	any        bool           // the server may have left any object
}

// isLeftAs reports whether the server alone has changed an object since it was left. The server
// gives and takes names of a file under other paths than that of the mark, which changes the time.
func isLeftAs(s, now *object.State) bool {
	return s.SameObject(now) || max(s.Nlink, now.Nlink) > 1 && s.SameButTime(now)
}

func (m *mark) addCandidate(st object.State) {
	i := slices.IndexFunc(m.candidates, func(s object.State) bool { return s.ID == st.ID })
	switch {
	case !m.pending, m.any, st.Kind == object.None, st.Kind == 0:
	case i >= 0:
		m.candidates[i] = st
	case len(m.candidates) == maxCandidates:
		m.any = true
	default:
		m.candidates = append(m.candidates, st)
	}
}

func (m *mark) isServers(st *object.State) bool {
	return st.Kind == object.None || m.any || len(m.candidates) == 0 || slices.ContainsFunc(m.candidates, func(s object.State) bool { return s.ID == st.ID })
}
