package npm

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Digest returns a hash of the list of a tree's packages: their places, names, versions and
// integrities, the systems that they are for, and whether they are bundled or optional. The order
// of the list does not count, nor do the addresses of the packages, nor the fields that publishers
// can change afterwards (deprecation). The result has the form sha256:HEX.
//
// Two lists with one digest lead npm ci to the same files on one system. The digest says
// nothing about files that were changed after the installation.
func Digest(packages []Package) string {
	lines := make([]string, len(packages))
	for i, p := range packages {
		fields := []string{p.Path, p.Name, p.Version, p.Integrity, strconv.FormatBool(p.Bundled), strconv.FormatBool(p.Optional)}
		for _, list := range [][]string{p.OS, p.CPU, p.Libc} {
			quoted := make([]string, len(list))
			for j, s := range list {
				quoted[j] = strconv.Quote(s)
			}
			fields = append(fields, strings.Join(quoted, ","))
		}
		for j, f := range fields {
			fields[j] = strconv.Quote(f)
		}
		lines[i] = strings.Join(fields, " ") + "\n"
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("mcp-jail npm tree 1\n" + strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
