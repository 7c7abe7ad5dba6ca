package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
)

// signals returns what the registry's metadata say against a new version.
func (r *npmRun) signals(ctx context.Context, old, e *lockfile.Entry) ([]npm.Signal, error) {
	var view strings.Builder
	words := append([]string{"view", "--json", "--", e.Name + "@" + old.Version + " || " + e.Version}, npm.SignalFields...)
	err := r.withLogins(func() error {
		j := *r.jail
		j.NoStderr = true
		exit, _, err := j.Run(ctx, &view, slices.Concat(r.npm, words)...)
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("npm view %s ended with status %d", e.Name, exit.Code)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return npm.Signals([]byte(view.String()), old.Version, e.Version)
}
