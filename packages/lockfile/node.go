package lockfile

// A node is a value of the file with its line.
type node struct {
	line  int
	kind  kind
	text  string // of a string, or the digits of an integer
	keys  []string
	table map[string]*node
	// How a table came about decides what may extend it (TOML 1.0, "Table").
	header, inline, dotted bool
}

type kind byte

const (
	isTable kind = iota + 1
	isString
	isInteger
	isOther // a kind that a lock file never has
)

func (k kind) String() string {
	switch k {
	case isTable:
		return "a table"
	case isString:
		return "a string"
	case isInteger:
		return "an integer"
	}
	return "another kind of value"
}

func newTable(line int) *node { return &node{line: line, kind: isTable, table: map[string]*node{}} }

// put adds a member. It reports whether the name was free.
func (n *node) put(name string, value *node) bool {
	if _, ok := n.table[name]; ok {
		return false
	}
	n.table[name] = value
	n.keys = append(n.keys, name)
	return true
}
