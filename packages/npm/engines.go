package npm

import (
	"bytes"
	"fmt"
	"strings"

	"deps.dev/util/semver"
)

// EngineFits reports whether a version of node is in a range of engines. A prerelease counts as its release, so
// that 24.0.0-nightly fits ">=22". The error says that one of the two cannot be read.
func EngineFits(rng, version string) (bool, error) {
	c, err := semver.NPM.ParseConstraint(rng)
	if err != nil {
		return false, fmt.Errorf("the range %q cannot be read: %w", rng, err)
	}
	release, _, _ := strings.Cut(version, "-")
	v, err := semver.NPM.Parse(release)
	if err != nil {
		return false, err
	}
	return c.MatchVersion(v), nil
}

const maxRange = 256 // as node-semver has it

// Engines returns the range of node versions that a package.json asks for, "" if it asks
// for none. Only the form {"engines": {"node": RANGE}} binds; npm ignores the lists of old
// packages. The error says that the file, or the range in it, has no form that npm reads.
func Engines(packageJSON []byte) (string, error) {
	manifest, err := readObject(packageJSON)
	if err != nil {
		return "", fmt.Errorf("package.json: %w", err)
	}
	engines := manifest.object("engines")
	node := engines.text("node")
	isRange := len(node) <= maxRange
	if isRange { // a longer one could take its reader minutes
		_, err = semver.NPM.ParseConstraint(node)
		isRange = err == nil && (node != "" || !engines.truth("node"))
	}
	if !isRange {
		return "", fmt.Errorf("package.json: engines.node is %.300s, not a range such as \">=20\"", bytes.TrimSpace(engines["node"]))
	}
	return node, nil
}
