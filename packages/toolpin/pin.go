package toolpin

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Bounds of what a pin keeps and accepts.
const (
	maxDefinition = 64 << 10  // bytes of a definition of which the text is kept
	maxKept       = 512 << 10 // bytes of all kept definitions and the instructions
	maxPages      = 16 << 20  // bytes of all pages
	maxTools      = 10_000
	maxName       = 1024 // bytes of the name of a tool
)

// A Pin is what a server said about its tools. Tools is sorted by name, and no name is in it
// twice.
type Pin struct {
	Server Server `json:"server,omitzero"`
	Tools  []Tool `json:"tools"`
}

// Server is what a server says about itself. Hash is that of the instructions, "" without
// any; their text is "" if it is too long to be kept.
type Server struct {
	Name         string `json:"name,omitzero"`
	Version      string `json:"version,omitzero"`
	Instructions string `json:"instructions,omitzero"`
	Hash         string `json:"instructionsHash,omitzero"`
}

// A Tool is the pinned definition of one tool.
type Tool struct {
	Name string `json:"name"`
	// Hash is "sha256:" and the hash, in hexadecimal digits, of the canonical definition.
	Hash string `json:"hash"`
	Definition
	// Annotations is "" without annotations. Of annotations that are longer than 4 KiB, it is a string with
	// their hash.
	Annotations JSON `json:"annotations,omitzero"`
	// Times is how often the name was listed, if more than once. The hash then covers all
	// the definitions, and no definition is kept.
	Times int `json:"times,omitzero"`
}

// A Definition holds the members of a tool that count, apart from its name. A member that is absent
// is "". All are "" if the definition is not kept.
type Definition struct {
	Title        JSON `json:"title,omitzero"`
	Description  JSON `json:"description,omitzero"`
	InputSchema  JSON `json:"inputSchema,omitzero"`
	OutputSchema JSON `json:"outputSchema,omitzero"`
}

// NewServer returns the record of a server. Texts that cannot be kept are replaced by their
// hash, or cut.
func NewServer(name, version, instructions string) Server {
	s := Server{Name: cut(name), Version: cut(version)}
	if instructions != "" {
		instructions = strings.ToValidUTF8(instructions, "\ufffd")
		s.Hash = hash(instructions)
		if len(instructions) <= maxDefinition {
			s.Instructions = instructions
		}
	}
	return s
}

func cut(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

func (d Definition) size() int {
	return len(d.Title) + len(d.Description) + len(d.InputSchema) + len(d.OutputSchema)
}

// IsZero reports whether no member is kept.
func (d Definition) IsZero() bool { return d == Definition{} }

// canonical returns the JSON that is hashed. Its members are sorted by name.
func (d Definition) canonical(name string) string {
	var members []string
	for _, m := range [...]struct {
		name  string
		value JSON
	}{
		{"description", d.Description}, {"inputSchema", d.InputSchema}, {"name", Quote(name)}, {"outputSchema", d.OutputSchema}, {"title", d.Title},
	} {
		if m.value != "" {
			members = append(members, `"`+m.name+`":`+string(m.value))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// HasText reports whether the definition is kept, and is the one that was hashed. It is
// false for a definition that was edited in the lock file.
func (t Tool) HasText() bool { return t.Times <= 1 && hash(t.canonical(t.Name)) == t.Hash }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hashPrefix + hex.EncodeToString(sum[:])
}

const hashPrefix = "sha256:"

// Find returns the tool of a name, or nil.
func (p *Pin) Find(name string) *Tool {
	i, ok := slices.BinarySearchFunc(p.Tools, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &p.Tools[i]
}

// An InvalidError reports JSON of which no pin can be made.
type InvalidError struct {
	What   string // "tools/list, page 2", "the server's answer to initialize"
	Tool   string // "" if it is not about one tool
	Reason string
}

func (e *InvalidError) Error() string {
	where := e.What
	if where == "" {
		where = "the JSON"
	}
	if e.Tool != "" {
		where += ", tool " + named(e.Tool)
	}
	return where + ": " + e.Reason
}
