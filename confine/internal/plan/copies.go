package plan

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Ephemeral returns the private HOME of which the server gets a copy, or "".
func Ephemeral(p *policy.Profile) string { return ephemeralHome(p).Path }

func ephemeralHome(p *policy.Profile) policy.Entry {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Origin == policy.OriginHome {
			return e
		}
	}
	return policy.Entry{}
}

// canCopy reports whether the server can have a copy of its private HOME.
func canCopy(f features.Facts) features.Feature {
	switch {
	case f.OS != "linux":
		return features.Unavailable("only Linux has overlays", "")
	case f.UserNamespaces.Answer == features.No:
		return features.Unavailable("without namespaces there are no mounts, and so no copy", FixNamespaces)
	case f.HomeCopy != nil:
		return *f.HomeCopy
	}
	return f.Overlay
}
