// Package landlocktest makes entries for tests of rulesets.
package landlocktest

import "github.com/mcp-jail/mcp-jail/policy"

// DirEntry returns the entry of a directory.
func DirEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindDir, Rights: r}
}

// FileEntry returns the entry of a regular file.
func FileEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindFile, Rights: r}
}

// SpecialEntry returns the entry of a device or socket.
func SpecialEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindSpecial, Rights: r}
}
