package config

import "github.com/mcp-jail/mcp-jail/internal/toml"

// Taken is what keeps lines from being pasted at the end of a file: the file has their table already,
// or a list or table around it as one value.
type Taken struct {
	Name string // the last part of its key
	Line int
	List bool     // it is a list in one value
	Open bool     // it is a table with a header
	Rest []string // the parts of the lines' table that are not in its key
}

// TakenBy returns what a file has that lines cannot be pasted beside. ok is false if there is no
// such thing.
func TakenBy(file []byte, lines string) (t Taken, ok bool) {
	const depth = 16
	_, faults := toml.Parse([]byte(string(file)+"\n"+lines), depth)
	if len(faults) == 0 {
		return t, false
	}
	f := faults[0]
	switch f.What {
	case toml.NotTables, toml.NotTable:
	case toml.HeaderTwice:
		t.Open = true
	default:
		return t, false
	}
	// The value may have a part of the rest.
	at, rest := f.Node.Find(f.Key[f.At:])
	name := f.Key[len(f.Key)-len(rest)-1]
	t.Name, t.Line, t.List, t.Rest = name, at.Line, at.Kind == toml.Array, rest
	return t, true
}
