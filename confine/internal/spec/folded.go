package spec

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// passed tells that there are names that another spelling leads past the mount of.
func Passed(names []policy.FoldedName) bool {
	return slices.ContainsFunc(names, func(f policy.FoldedName) bool { return f.BypassesMount })
}
