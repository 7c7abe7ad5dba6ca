package toolpin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

const maxAnnotations = 4 << 10

// New returns the pin of a server whose tools/list has these pages. A page is the value of
// the result member of one answer. The error is an [*InvalidError].
func New(server Server, pages ...[]byte) (*Pin, error) {
	p := &Pin{Server: server}
	total := 0
	for i, page := range pages {
		what := fmt.Sprintf("tools/list, page %d", i+1)
		if total += len(page); total > maxPages {
			return nil, &InvalidError{What: what, Reason: fmt.Sprintf("the pages have more than %d bytes", maxPages)}
		}
		if err := p.add(page); err != nil {
			return nil, about(what, err)
		}
	}
	p.Tools = merge(p.Tools)
	p.bound()
	return p, nil
}

func about(what string, err error) error {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.What = what
	}
	return err
}

// members returns the members of an object. It refuses a name that differs by its case from one of these
// names, because some programs ignore the case.
func (j JSON) members(of string, names ...string) (map[string]JSON, error) {
	all := object(j)
	if all == nil {
		return nil, wrong("", "%s is not an object", of)
	}
	for name := range all {
		for _, want := range names {
			if name != want && strings.EqualFold(name, want) {
				tool, _ := all["name"].text()
				return nil, wrong(tool, "the member %s differs from %s by its case, and some programs read it as %s", show.Named(name, 60), want, want)
			}
		}
	}
	return all, nil
}

// add adds the tools of a page.
func (p *Pin) add(page []byte) error {
	text, err := Canonical(page)
	if err != nil {
		return err
	}
	result, err := text.members("the result", "tools")
	if err != nil {
		return err
	}
	tools := array(result["tools"])
	if tools == nil {
		return wrong("", "the result has no array of tools")
	}
	for _, definition := range tools {
		t, err := newTool(definition)
		if err != nil {
			return err
		}
		p.Tools = append(p.Tools, t)
	}
	if len(p.Tools) > maxTools {
		return wrong("", "there are more than %d tools", maxTools)
	}
	return nil
}

func newTool(definition JSON) (Tool, error) {
	m, err := definition.members("a tool", "name", "title", "description", "inputSchema", "outputSchema", "annotations")
	if err != nil {
		return Tool{}, err
	}
	name, ok := m["name"].text()
	switch {
	case !ok:
		return Tool{}, wrong("", "a tool has no name")
	case len(name) > maxName:
		return Tool{}, wrong("", "the name of a tool has more than %d bytes", maxName)
	}
	t := Tool{Name: name, Definition: Definition{m["title"], m["description"], m["inputSchema"], m["outputSchema"]}, Annotations: m["annotations"]}
	if len(t.Annotations) > maxAnnotations {
		t.Annotations = Quote(hash(string(t.Annotations)))
	}
	t.Hash = hash(t.canonical(t.Name))
	return t, nil
}

func merge(tools []Tool) []Tool {
	slices.SortFunc(tools, func(a, b Tool) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.Hash, b.Hash), cmp.Compare(a.Annotations, b.Annotations))
	})
	out := tools[:0]
	for i := 0; i < len(tools); {
		end := i + 1
		// Sorted by hash too, so that the order in the list does not count.
		for end < len(tools) && tools[end].Name == tools[i].Name {
			end++
		}
		t := tools[i]
		if end > i+1 {
			var hashes, annotations strings.Builder
			for _, same := range tools[i:end] {
				hashes.WriteString(same.Hash)
				annotations.WriteString(string(same.Annotations) + "\n")
			}
			t = Tool{Name: t.Name, Hash: hash(hashes.String()), Annotations: Quote(hash(annotations.String())), Times: end - i}
		}
		out = append(out, t)
		i = end
	}
	return out
}

func (p *Pin) bound() {
	total := len(p.Server.Instructions)
	for i := range p.Tools {
		t := &p.Tools[i]
		if n := t.size(); n > maxDefinition || total+n > maxKept {
			t.Definition = Definition{}
		} else {
			total += n
		}
	}
}

// ReadServer returns the record of a server from the result of initialize or
// server/discover: its members serverInfo and instructions. The error is an
// [*InvalidError].
func ReadServer(result []byte) (Server, error) {
	const what = "the server's description of itself"
	if len(result) > maxPages {
		return Server{}, &InvalidError{What: what, Reason: fmt.Sprintf("it has more than %d bytes", maxPages)}
	}
	text, err := Canonical(result)
	if err != nil {
		return Server{}, about(what, err)
	}
	own, err := text.members("it", "serverInfo", "instructions")
	if err != nil {
		return Server{}, about(what, err)
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
