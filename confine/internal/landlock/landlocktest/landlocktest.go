package landlocktest

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

func DirEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindDir, Rights: r}
}

func FileEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindFile, Rights: r}
}

func SpecialEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindSpecial, Rights: r}
}
