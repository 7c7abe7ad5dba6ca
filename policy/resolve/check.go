package resolve

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// PlacedRule is a rule for files with the canonical path that it leads to.
type PlacedRule struct {
	policy.FsRule
	At string
}

// CheckFiles returns what Resolve makes of the workspace and of the rules for files, with its warnings
// and its error about them, before the program of the server is looked for. host.Dir is the directory
// in which the server is to start. If that is "", it is not known, and the workspace and relative
// rules are passed over. placed are the rules that grant something that is there.
func CheckFiles(p *policy.Policy, host hostfs.Host) (placed []PlacedRule, warnings []policy.Warning, err error) {
	asked := *p
	if host.Dir == "" {
		asked.Default, asked.Workspace, host.Dir = false, "", host.Home
		asked.Fs = slices.DeleteFunc(slices.Clone(p.Fs), func(r policy.FsRule) bool { return !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~") })
	}
	b := newResolver(&asked, &host)
	if err := b.placeFiles(); err != nil {
		return nil, b.warnings.list, err
	}
	for _, n := range b.targets {
		placed = append(placed, PlacedRule{n.rule, n.canonical})
	}
	b.masks.hideSensitive()
	b.masks.warnOwn()
	b.masks.warnDeciding()
	return placed, b.warnings.list, nil
}
