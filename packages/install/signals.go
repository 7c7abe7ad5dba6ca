package install

import (
	"context"
	"fmt"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/npmcache"
)

// signals returns what the registry's metadata say against a new version. `npm view` fetches the
// metadata in the whole form, with the publishers, and leaves them in its cache.
func (r *npmRun) signals(ctx context.Context, old, e *lockfile.Entry) ([]npm.Signal, error) {
	w := &watch{installer: r.installer, step: Fetching, pkg: e.Name}
	if _, err := r.runNPM(ctx, r.jail, w, "", "view", "--json", "--", e.Name, "name"); err != nil {
		return nil, err
	}
	registry, err := r.config.registryOf(e.Name)
	if err != nil {
		return nil, err
	}
	text, err := npmcache.Packument(r.cache(), npmcache.PackumentURL(registry, e.Name))
	if err != nil {
		return nil, fmt.Errorf("the metadata of %s are not in npm's cache: %w", e.Name, err)
	}
	return npm.Signals(text, old.Version, e.Version)
}
