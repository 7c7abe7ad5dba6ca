package dirs

import (
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Made returns the state of each directory that a start would make, or false if one does not exist. A
// directory of which the server gets a copy has its time of change in it: the copy is to begin as the directory is now.
func Made(p *policy.Profile) (states []State, all bool) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		var st syscall.Stat_t
		if syscall.Lstat(e.Path, &st) != nil {
			return nil, false
		}
		state := State{dev: st.Dev, ino: st.Ino}
		if e.Ephemeral {
			state.changed = st.Ctim
		}
		states = append(states, state)
	}
	return states, true
}

// State tells a directory from another, or from itself at another time.
type State struct {
	dev, ino uint64
	changed  syscall.Timespec
}
