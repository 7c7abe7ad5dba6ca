package toolpin

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

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
	text, err := Canonical(page)
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
		annotations = Quote(hash(string(annotations)))
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
			t = Tool{t.Name, Quote(hash(definitions.String())), Quote(hash(annotations.String())), times}
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
	text, err := Canonical(result)
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
