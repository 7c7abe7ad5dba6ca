package main

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// installsAfter reports whether run installs the package of a target that was resolved with an
// error or without. The launcher itself need not be on this machine: pip can install what
// uvx would.
func installsAfter(t *target, err error) bool {
	var missing *resolve.CommandError
	return t != nil && t.needsInstall() && (err == nil || errors.As(err, &missing))
}

// grantTree lets the server read and execute the tree of its Python packages. Those of a
// JavaScript program are found by package resolve, around the program's file.
func (t *target) grantTree(p *installed.Program) {
	if p.Entry.Ecosystem == lockfile.PyPI {
		t.policy.Packages.Tree = p.Dir
	}
}
