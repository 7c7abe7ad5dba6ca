package reader

import "github.com/mcp-jail/mcp-jail/internal/toml"

// A Shape is what the decoder accepts at one place of a file. It is for code that describes
// the format, such as a schema for editors. [Decode] checks more, for example that two keys do
// not contradict each other.
type Shape struct {
	Type     string            // "object", "array", "string", "integer" or "boolean"; "" with Any
	Keys     map[string]*Shape // of a table with known keys; nil if the user chooses them
	Required []string          // those of Keys that must be there
	Names    *Shape            // of a table with keys that the user chooses: the shape of each value
	Like     string            // a regular expression for such keys, or for a string; "" for any
	Items    *Shape            // of an array
	NotEmpty bool              // of an array or a string
	Words    []string          // the strings that are accepted; nil for any
	Low      int64             // of an integer, and High
	High     int64
	Any      []*Shape // the alternatives, where there are several
}

func jsonType(k toml.Kind) string {
	return map[toml.Kind]string{toml.Table: "object", toml.Array: "array", toml.String: "string", toml.Integer: "integer", toml.Bool: "boolean"}[k]
}
