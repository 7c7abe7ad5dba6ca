package reader

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	MaxFileSize = 1 << 20 // docs/reference.md "Configuration"
	maxDepth    = 16      // of nested tables and arrays, and of the parts of a key
)

type node = toml.Node

func parse(data []byte, file string) (root *node, problems policy.Problems) {
	if len(data) > MaxFileSize {
		message := fmt.Sprintf("is %d bytes; a configuration of more than %d bytes is refused", len(data), MaxFileSize)
		return &node{Kind: toml.Table, Line: 1}, policy.Problems{{File: file, Message: message}}
	}
	if at := bytes.IndexByte(data, 0); at >= 0 && utf8.Valid(data) {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return &node{Kind: toml.Table, Line: 1}, policy.Problems{{File: file, Line: line, Message: "contains a NUL byte"}}
	}
	root, faults := toml.Parse(data, maxDepth)
	for _, f := range faults {
		key, message := describeFault(f)
		problems = append(problems, policy.Problem{File: file, Line: f.Line, Key: key, Message: message})
	}
	return root, problems
}

func describeFault(f toml.Fault) (key, message string) {
	key = policy.JoinKey(f.Key)
	taken := policy.JoinKey(f.Key[:f.At])
	switch f.What {
	case toml.NotUTF8:
		message = "is not valid UTF-8 (byte " + f.Text + ")"
	case toml.Crash:
		message = "cannot be parsed: " + f.Text
	case toml.LongKey:
		message = fmt.Sprintf("the key has more than %d parts", maxDepth)
	case toml.NULInKey:
		message = "the key contains a NUL"
	case toml.NULInText:
		message = "contains a NUL"
	case toml.DeepValue:
		message = fmt.Sprintf("arrays and tables are nested more than %d deep", maxDepth)
	case toml.BadNumber:
		message = fmt.Sprintf("the number %s is out of range", policy.Abbreviate(f.Text))
	case toml.BadDate:
		message = policy.Abbreviate(f.Text) + " is not a date or time"
	case toml.NotTables:
		message = fmt.Sprintf("[[%s]] is already defined in line %d, and not as an array of tables", key, f.Node.Line)
	case toml.NotTable:
		kind := f.Node.Kind.String()
		if f.Node.Kind == toml.Table {
			kind = "an inline table"
		}
		message = fmt.Sprintf("[%s] cannot be a table: %s is %s in line %d", key, taken, kind, f.Node.Line)
	case toml.HeaderTwice:
		message = fmt.Sprintf("[%s] is defined twice, first in line %d", key, f.Node.Line)
	case toml.NotExtendable:
		message = fmt.Sprintf("%s cannot be extended here: it is defined in line %d", taken, f.Node.Line)
	case toml.KeyTwice:
		message = fmt.Sprintf("%s is given twice, first in line %d", key, f.Node.Line)
	default:
		message = "is not valid TOML: " + f.Text
	}
	return key, message
}
