package runtime

import (
	"io/fs"
	"strings"
)

// NativeAddons reports whether a tree of packages contains add-ons in machine code (.node
// files). Most are built for one major version of node, see [Interpreter.ABI]; those that
// use Node-API fit all, which their names do not tell. An error means that the tree could
// not be read whole.
func NativeAddons(tree fs.FS) (bool, error) {
	found := false
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".node") {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}
