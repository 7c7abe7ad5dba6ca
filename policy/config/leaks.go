package config

import (
	"cmp"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// leakOrder are the values of leaks, from the weakest to the strictest.
var leakOrder = []string{policy.LeaksOff, policy.LeaksWarn, policy.LeaksBlock}

// keepLeaks removes leaks and leak_patterns from later, a project's table, if they are weaker
// than in the user's own files, or than the default: a project does not decide what its servers
// may do with the user's secrets. earlier is the server of the layers below, or nil.
func (c *Config) keepLeaks(earlier, later *Server) {
	own := &Server{}
	if c.Defaults != nil {
		own.overlaySettings(&c.Defaults.settings)
	}
	if earlier != nil {
		own.overlaySettings(earlier)
	}
	held := cmp.Or(own.Leaks, policy.LeaksWarn)
	if later.Leaks != "" && slices.Index(leakOrder, later.Leaks) < slices.Index(leakOrder, held) {
		later.Leaks = ""
		delete(later.places, "leaks")
	}
	if later.LeakPatterns != nil && !*later.LeakPatterns {
		later.LeakPatterns = nil
		delete(later.places, "leak_patterns")
	}
}
