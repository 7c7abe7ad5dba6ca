package lockfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// A SyntaxError reports a lock file that cannot be used.
type SyntaxError struct {
	File   string // "" if it is not known
	Line   int    // 0 if the whole file is meant
	Reason string
}

func (e *SyntaxError) Error() string {
	file := e.File
	if file == "" {
		file = FileName
	}
	if e.Line > 0 {
		file = fmt.Sprintf("%s:%d", file, e.Line)
	}
	return file + ": " + e.Reason
}

// mend says what to do about a file that has a fault.
const mend = ". Correct it, or put an older copy in its place; without this file, the newest version of each package is fetched and pinned anew"

func fault(line int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// maxDepth is what a lock file never reaches: of nested values, and of the parts of a key.
const maxDepth = 100

// full parses a file. For a file of another format version, the error is a *VersionError, also if
// the file has faults after its version: in that version, they may be none.
func full(data []byte) (*toml.Node, error) {
	root, faults := toml.Parse(data, maxDepth)
	err := firstFault(data, faults)
	// A newer format may be no TOML that this version can read.
	if v := root.Table["version"]; err == nil || v != nil && err.Line >= v.Line {
		if version := checkVersion(root); version != nil {
			return nil, version
		}
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

func firstFault(data []byte, faults []toml.Fault) *SyntaxError {
	faults = slices.DeleteFunc(faults, func(f toml.Fault) bool { return f.What == toml.NULInKey || f.What == toml.NULInText }) // a server may say such things
	if bytes.IndexByte(data, 0) >= 0 || len(faults) > 0 && faults[0].What == toml.NotUTF8 {
		return fault(0, "it is not text in UTF-8")
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		for _, mark := range []string{"<<<<<<< ", "=======", ">>>>>>> "} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return fault(i+1, "a merge left a conflict here; keep one of the two sides, or run mcp-jail install again")
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	switch f.What {
	case toml.Syntax:
		return fault(f.Line, "it is not valid TOML: %s%s", show.Named(f.Text, 200), mend)
	case toml.HeaderTwice:
		return fault(f.Line, "the section %s is there twice, first in line %d", show.Named(strings.Join(f.Key, "."), 120), f.Node.Line)
	case toml.NotTable, toml.NotTables, toml.NotExtendable, toml.KeyTwice:
		name := show.Named(f.Key[f.At-1], 80)
		switch {
		case f.What == toml.KeyTwice:
			return fault(f.Line, "%s is there twice, first in line %d", name, f.Node.Line)
		case f.Node.Kind == toml.Table && !f.Node.Inline:
			return fault(f.Line, "%s has a section in line %d, and cannot be extended here", name, f.Node.Line)
		}
		return fault(f.Line, "%s is %s in line %d, and cannot be extended", name, kindName(f.Node.Kind), f.Node.Line)
	}
	return fault(f.Line, "it cannot be parsed: %s%s", show.Named(strings.Join(append(f.Key, f.Text), " "), 200), mend)
}

func kindName(k toml.Kind) string {
	switch k {
	case toml.Table, toml.String, toml.Integer:
		return k.String()
	}
	return "another kind of value"
}
