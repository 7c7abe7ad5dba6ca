package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// checkBeside refuses a rule that a preset made for the directory around one file, if that directory
// is shared. dir is that directory, canonical.
func (b *resolver) checkBeside(r policy.FsRule, dir string) error {
	if r.Beside == "" {
		return nil
	}
	if at, err := b.paths.Resolve(path.Join(dir, path.Base(r.Beside))); err == nil && at.Exists() && at.Info.Mode.IsDir() {
		return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s is a directory: name a file, in a directory of its own", show.TOML(r.Beside))}}
	}
	if why := b.places.WhyShared(dir); why != "" {
		return b.besideError(r, dir, why)
	}
	return nil
}

func (b *resolver) isNamedIn(rules []policy.FsRule, p, workspace string) bool {
	return slices.ContainsFunc(rules, func(r policy.FsRule) bool {
		abs, _ := b.places.Expand(r.Path, workspace)
		return r.Beside == "" && b.paths.Canonical(abs) == p
	})
}

// besideError refuses the rule for the directory around one file.
func (b *resolver) besideError(r policy.FsRule, dir, why string) error {
	name := path.Base(r.Beside)
	own := path.Join(b.h.Home, "mcp-"+strings.TrimPrefix(strings.TrimSuffix(name, path.Ext(name)), "."), name)
	return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s: the server makes other files beside it, so it would need all of %s (%s), which %s. Give it a file in a directory of its own, such as %s",
		show.TOML(r.Beside), dir, r.Rights(), why, show.Name(b.places.Abbreviate(own)))}}
}
