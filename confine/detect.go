package confine

import "github.com/mcp-jail/mcp-jail/confine/internal/features"

// hostFacts asks this host what a plan needs.
func hostFacts() features.Facts {
	f := features.Detect()
	f.Proof = proof()
	return f
}
