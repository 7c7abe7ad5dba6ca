package npm

import (
	"bytes"
	"fmt"
)

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
	if node == "" && engines.truth("node") {
		return "", fmt.Errorf("package.json: engines.node is %s, not a range such as \">=20\"", bytes.TrimSpace(engines["node"]))
	}
	if _, err := parseRange(node, true); err != nil {
		return "", fmt.Errorf("package.json: engines.node: %w", err)
	}
	return node, nil
}
