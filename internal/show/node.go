package show

// A Node is one value of a document.
type Node struct {
	Kind Kind
	Line int
	Text string // of a string; of a number or a date, its spelling
	Int  int64
	Bool bool

	Keys  []string // of a table, in order of appearance
	Table map[string]*Node
	Items []*Node

	Tables bool // an array whose tables have headers
	Inline bool // a table or an array that is written as one value, and may not be extended
	// Start and End are the value's place in the document. End is -1 for a table or an array
	// that is not one value.
	Start, End int
	Key        place // the key that first named the value; of no use for an item of an array

	// How a table came about decides what may extend it (TOML 1.0, "Table"). header: opened by
	// [header]; dotted: made by a dotted key.
	header, dotted bool
}

// A Place is where a key is in the document. Name is the last part of a dotted key.
type place struct{ Line, Start, NameStart, NameEnd int }

// Kind is the type of a value.
type Kind uint8

const (
	Table Kind = iota + 1
	Array
	String
	Integer
	Bool
	float
	date
)

func (k Kind) String() string {
	switch k {
	case Table:
		return "a table"
	case Array:
		return "an array"
	case String:
		return "a string"
	case Integer:
		return "an integer"
	case Bool:
		return "true or false"
	case float:
		return "a number with a fraction"
	case date:
		return "a date or time"
	}
	return "nothing"
}

func newTable(line int, key place) *Node {
	return &Node{Kind: Table, Line: line, Table: map[string]*Node{}, Key: key, Start: key.Start, End: -1}
}

func (n *Node) put(name string, value *Node) {
	n.Keys = append(n.Keys, name)
	n.Table[name] = value
}

// A Fault is what is wrong with a document at one place.
type Fault struct {
	What faultKind
	Line int
	Key  []string // the whole key, if there is one
	At   int      // how many parts of Key name Node
	Node *Node    // what is there already
	Text string   // the parser's message, or the spelling of a bad number or date
}

// faultKind says what a [Fault] is.
type faultKind uint8

const (
	syntax faultKind = iota + 1
	NotUTF8
	Crash         // the parser panicked
	LongKey       // more parts than the depth
	NULInKey      // by an escape
	DeepValue     // nested deeper than the depth
	NULInText     // by an escape
	BadNumber     // out of range
	BadDate       // such as 2026-99-99
	NotTables     // [[Key]] for another value
	NotTable      // [Key] goes through a value that is not an open table
	HeaderTwice   // [Key]
	NotExtendable // a dotted key goes through a value that is not an open table
	KeyTwice
)
