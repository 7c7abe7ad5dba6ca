package install

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
)

// scriptsName is the name of the jails in which scripts run. Their HOME is another one than
// that of the npm that fetches: no script reads or changes npm's cache.
const scriptsName = "scripts"

// runScripts runs the scripts of packages, those of each package in a jail of its own, which
// has neither a network nor credentials. The tree is moved to the HOME of that jail.
func (r *npmRun) runScripts(ctx context.Context, packages []npm.Package) (refused []Refusal, err error) {
	j := r.installer.jail(r.jail.Dir, scriptsName, r.jail.Path)
	j.Watched = true
	work := filepath.Join(j.Home(), "work")
	if err := os.MkdirAll(j.Home(), 0o700); err != nil {
		return nil, err
	}
	if err := os.Rename(r.work, work); err != nil {
		return nil, err
	}
	r.work = work
	settings := ownSettings(filepath.Join(j.Home(), "cache"))
	maps.Copy(settings, map[string]string{"offline": "true", "ignore-scripts": "false", "foreground-scripts": "true"})
	if dir := nodeHeaders(r.jail.Path); dir != "" {
		settings["nodedir"] = dir
	}
	for name, value := range settings {
		j.set(name, value)
	}
	// npm runs the scripts of outer packages first, too.
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b npm.Package) int {
		return strings.Count(a.Path, "node_modules/") - strings.Count(b.Path, "node_modules/")
	})
	for _, name := range names(packages) {
		w := &watch{installer: r.installer, step: Scripts, work: work, pkg: r.line.Packages[0].String()}
		more, err := r.runNPM(ctx, j, w, name, "rebuild", "--prefix", work, "--", name)
		refused = append(refused, more...)
		if err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// nodeHeaders returns the directory of the node that PATH gives, if its headers are there, and
// "" otherwise. With them node-gyp compiles without a network. nvm and its likes bring them,
// distributions have them in a package of their own.
func nodeHeaders(path []string) string {
	for _, dir := range path {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, "node"))
		if err != nil {
			continue
		}
		prefix := filepath.Dir(filepath.Dir(file))
		if _, err := os.Stat(filepath.Join(prefix, "include", "node", "node.h")); err == nil {
			return prefix
		}
		return ""
	}
	return ""
}
