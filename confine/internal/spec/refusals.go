package spec

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// sighting is what m is about; whether the jail alone does not have it, is known by now.
func (m Message) Sighting() Sighting {
	return Sighting{policy.Axis(m.Step), m.Detail, m.Target, m.Kind == SaysAbsent && m.Target == policy.DenialOthers}
}
