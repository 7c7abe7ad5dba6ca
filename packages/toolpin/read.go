package toolpin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

const maxAnnotations = 4 << 10

// New returns the pin of a server whose tools/list has these pages. A page is the value of
// the result member of one answer.
func New(server Server, pages ...[]byte) (*Pin, error) {
	p := &Pin{Server: server}
	total := 0
	for i, page := range pages {
		if total += len(page); total > maxPages {
			return nil, fmt.Errorf("tools/list: its pages have more than %d bytes", maxPages)
		}
		if err := p.add(page); err != nil {
			return nil, fmt.Errorf("tools/list, page %d: %w", i+1, err)
		}
	}
	p.Tools = merge(p.Tools)
	p.bound()
	return p, nil
}

// check refuses what is no object, and a member whose name differs by its case from one of these names,
// because some programs ignore the case.
func check(members map[string]JSON, of string, names ...string) error {
	if members == nil {
		return fmt.Errorf("%s is not an object", of)
	}
	for name := range members {
		for _, want := range names {
			if name != want && strings.EqualFold(name, want) {
				return fmt.Errorf("%s: the member %s differs from %s by its case, and some programs read it as %s", of, show.Named(name, 60), want, want)
			}
		}
	}
	return nil
}

// add adds the tools of a page.
func (p *Pin) add(page []byte) error {
	text, err := canonical(page)
	if err != nil {
		return err
	}
	result := object(text)
	if err := check(result, "the result", "tools"); err != nil {
		return err
	}
	tools := array(result["tools"])
	if tools == nil {
		return errors.New("the result has no array of tools")
	}
	for _, definition := range tools {
		t, err := newTool(definition)
		if err != nil {
			return err
		}
		p.Tools = append(p.Tools, t)
	}
	if len(p.Tools) > maxTools {
		return fmt.Errorf("there are more than %d tools", maxTools)
	}
	return nil
}

// toolMembers are the members of a tool that a pin has. All but the last are its definition.
var toolMembers = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

func newTool(listed JSON) (Tool, error) {
	all := object(listed)
	name, ok := all["name"].text()
	of := "a tool"
	if ok {
		of = "tool " + named(name)
	}
	if err := check(all, of, toolMembers...); err != nil {
		return Tool{}, err
	}
	if !ok {
		return Tool{}, errors.New("a tool has no name")
	}
	if len(name) > maxName {
		return Tool{}, fmt.Errorf("the name of a tool has more than %d bytes", maxName)
	}
	annotations := all["annotations"]
	if len(annotations) > maxAnnotations {
		annotations = quote(hash(string(annotations)))
	}
	maps.DeleteFunc(all, func(name string, _ JSON) bool {
		return name == "annotations" || !slices.Contains(toolMembers, name)
	})
	definition, err := json.Marshal(all, json.Deterministic(true)) // canonical, because its members are
	return Tool{Name: name, Definition: JSON(definition), Annotations: annotations}, err
}

// merge sorts the tools, and makes one of those with the same name.
func merge(tools []Tool) (merged []Tool) {
	slices.SortFunc(tools, func(a, b Tool) int { // the order in the list does not count
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Definition, b.Definition), cmp.Compare(a.Annotations, b.Annotations))
	})
	for i := 0; i < len(tools); {
		t := tools[i]
		var definitions, annotations strings.Builder
		first := i
		for ; i < len(tools) && tools[i].Name == t.Name; i++ {
			definitions.WriteString(string(tools[i].Definition) + "\n")
			annotations.WriteString(string(tools[i].Annotations) + "\n")
		}
		if times := i - first; times > 1 {
			t = Tool{t.Name, quote(hash(definitions.String())), quote(hash(annotations.String())), times}
		}
		merged = append(merged, t)
	}
	return merged
}

// bound replaces the definitions that are too long, one by one or together, by their hashes.
func (p *Pin) bound() {
	total := len(p.Server.Instructions)
	for i := range p.Tools {
		t := &p.Tools[i]
		if n := len(t.Definition); n > maxDefinition || total+n > maxKept {
			t.Definition = t.Definition.hashed()
		}
		total += len(t.Definition)
	}
}

// ReadServer returns the record of a server from the result of initialize or
// server/discover: its members serverInfo and instructions.
func ReadServer(result []byte) (Server, error) {
	const what = "the server's description of itself"
	if len(result) > maxPages {
		return Server{}, fmt.Errorf("%s has more than %d bytes", what, maxPages)
	}
	text, err := canonical(result)
	if err != nil {
		return Server{}, fmt.Errorf("%s: %w", what, err)
	}
	own := object(text)
	if err := check(own, what, "serverInfo", "instructions"); err != nil {
		return Server{}, err
	}
	info := object(own["serverInfo"])
	return NewServer(info["name"].plain(), info["version"].plain(), own["instructions"].plain()), nil
}

// plain returns the text of a string, and other JSON as it is; null is no text.
func (j JSON) plain() string {
	if text, ok := j.text(); ok || j == "null" {
		return text
	}
	return string(j)
}

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
		return quote(hash(string(j)))
	}
	return j
}

// sameDefinition reports whether two tools are defined alike. Of one of them the definition may not be kept.
func (t *Tool) sameDefinition(o *Tool) bool {
	return t.Times == o.Times && (t.Definition == o.Definition || t.Definition.hashed() == o.Definition.hashed())
}

// Find returns the tool of a name, or nil.
func (p *Pin) Find(name string) *Tool {
	i, ok := slices.BinarySearchFunc(p.Tools, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &p.Tools[i]
}

// maxDepth is the deepest nesting of a result. Schemas need about 20 levels.
const maxDepth = 64

// JSON is JSON in its canonical form, or "" for no JSON. In a file it is the value that it stands for.
type JSON string

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(text []byte) (err error) {
	*j, err = canonical(text)
	return err
}

// canonical returns the canonical form (RFC 8785) of one JSON text. Programs differ in how they read two
// members of one name, invalid UTF-8 and half of a surrogate pair, so these are errors.
func canonical(text []byte) (JSON, error) {
	if err := checkBounds(text); err != nil {
		return "", err
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		return "", invalid(err)
	}
	return JSON(v), nil
}

// checkBounds refuses what jsontext takes: deep nesting, and numbers that it would replace by the
// largest double.
func checkBounds(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	for {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return invalid(err)
		}
		if d.StackDepth() > maxDepth {
			return fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
		}
		if token.Kind() != '0' {
			continue
		}
		if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
			return fmt.Errorf("the number %s is beyond the range of a double", show.Named(token.String(), 40))
		}
	}
}

// invalid says in words what is wrong with a text.
func invalid(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON text ends early")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		name := show.Named(syntax.JSONPointer.LastToken(), 60)
		return fmt.Errorf("the member %s is there twice, and programs differ in which one they read", name)
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %s", syntax.ByteOffset, show.Named(syntax.Err.Error(), 200))
	}
	return err
}

// quote returns a text as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func quote(text string) JSON {
	out, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	return JSON(out)
}

// text returns the text of a JSON string. ok is false for other JSON.
func (j JSON) text() (text string, ok bool) {
	if !strings.HasPrefix(string(j), `"`) {
		return "", false
	}
	out, err := jsontext.AppendUnquote(nil, string(j))
	return string(out), err == nil
}
