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

// Server is what a server says about itself. Instructions that are too long to be kept are their hash.
type Server struct {
	Name         string `json:"name,omitzero"`
	Version      string `json:"version,omitzero"`
	Instructions string `json:"instructions,omitzero"`
}

// A Tool is the pinned definition of one tool.
type Tool struct {
	Name string `json:"name"`
	// Definition is an object with the members that count. One that is too long to be kept is a string with
	// its hash.
	Definition JSON `json:"definition"`
	// Annotations is "" without annotations. Long ones are a string with their hash.
	Annotations JSON `json:"annotations,omitzero"`
	// Times is how often the name was listed, if more than once. Definition and Annotations are then the
	// hashes of all of them.
	Times int `json:"times,omitzero"`
}

// NewServer returns the record of a server. Texts that cannot be kept are replaced by their
// hash, or cut.
func NewServer(name, version, instructions string) Server {
	instructions = strings.ToValidUTF8(instructions, "\ufffd")
	if len(instructions) > maxDefinition {
		instructions = hash(instructions)
	}
	return Server{cut(name), cut(version), instructions}
}

func cut(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hashed returns a string with the hash of an object, and other JSON as it is.
func (j JSON) hashed() JSON {
	if strings.HasPrefix(string(j), "{") {
		return Quote(hash(string(j)))
	}
	return j
}

// sameDefinition reports whether two tools are defined alike. Of one of them the definition may not be kept.
func (t *Tool) sameDefinition(o *Tool) bool {
	return t.Times == o.Times && (t.Definition == o.Definition || t.Definition.hashed() == o.Definition.hashed())
}

// Description returns the description in a definition that is kept, and "" otherwise.
func (t *Tool) Description() JSON { return object(t.Definition)["description"] }

// Find returns the tool of a name, or nil.
func (p *Pin) Find(name string) *Tool {
	i, ok := slices.BinarySearchFunc(p.Tools, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &p.Tools[i]
}
