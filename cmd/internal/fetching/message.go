package fetching

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/mcp-jail/mcp-jail/confine"
)

// Message is one line of JSON that the companion prints while it installs for a session, or
// for wrap.
type Message struct {
	Step     string   `json:"step,omitempty"`
	Files    int      `json:"files,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
	Ready    string   `json:"ready,omitempty"`    // name and version
	Packages int      `json:"packages,omitempty"` // with Ready: it and what it needs
	Skipped  []string `json:"skipped,omitempty"`  // with Ready: the packages whose scripts did not run
	Error    string   `json:"error,omitempty"`

	Waived []string          `json:"waived,omitempty"` // lines about gaps of the jail that fetches, and about what it does not use
	Gaps   *confine.GapError `json:"gaps,omitempty"`   // with Error: those that are not waived
}

// Read sends the messages of the companion, and closes the channel at the end.
func Read(from io.Reader, to chan<- Message) {
	defer close(to)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m Message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			to <- m
		}
	}
}

// Error reports that the package of a server could not be installed, or cannot be used.
type Error struct {
	Package string
	Reason  string
}

func (e *Error) Error() string { return e.Reason }
