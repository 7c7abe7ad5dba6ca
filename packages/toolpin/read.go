package toolpin

import (
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
		if total += len(page); total > maxPages {
			return nil, &InvalidError{What: pageName(i), Reason: fmt.Sprintf("the pages have more than %d bytes", maxPages)}
		}
		r := &reader{scanner: scanner{in: page, out: make([]byte, 0, min(len(page), 64<<10))}, pin: p}
		if err := r.page(); err != nil {
			return nil, r.explain(err, pageName(i))
		}
	}
	p.Tools = merge(p.Tools)
	p.bound()
	return p, nil
}

func pageName(i int) string { return fmt.Sprintf("tools/list, page %d", i+1) }

// A reader reads one page of tools.
type reader struct {
	scanner
	pin  *Pin
	tool string // the name of the tool that is read, once it is known
}

func (r *reader) explain(err error, what string) error {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.What, invalid.Tool = what, r.tool
	}
	return err
}

func (r *reader) page() error {
	found := false
	if r.peek() != '{' {
		return r.fail("the result is not an object")
	}
	err := r.object(func(name []byte) error {
		if err := r.checkCase(name, "tools"); err != nil {
			return err
		}
		if string(name) != "tools" {
			return r.value()
		}
		if found = true; r.peek() != '[' {
			return r.fail("tools is not an array")
		}
		return r.array(r.definition)
	})
	if err == nil {
		err = r.end()
	}
	if err == nil && !found {
		err = r.fail("the result has no tools")
	}
	return err
}

// toolMembers are the members that a pin holds.
var toolMembers = [...]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

func (r *reader) definition() error {
	if r.peek() != '{' {
		return r.fail("a tool is not an object")
	}
	var values [len(toolMembers)]string
	start := len(r.out)
	r.tool = ""
	err := r.object(func(name []byte) error {
		which := -1
		for i, want := range toolMembers {
			if string(name) == want {
				which = i
			} else if err := r.checkCase(name, want); err != nil {
				return err
			}
		}
		at := len(r.out)
		if err := r.value(); err != nil {
			return err
		}
		if which >= 0 {
			values[which] = string(r.out[at:])
		}
		if which == 0 {
			r.tool, _ = Unquote(values[0])
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The page's canonical form is not needed, and pages have up to 16 MiB.
	r.out = append(r.out[:start], "null"...)
	switch name, ok := Unquote(values[0]); {
	case !ok:
		return r.fail("a tool has no name")
	case len(name) > maxName:
		return r.fail("the name of a tool has more than %d bytes", maxName)
	case len(r.pin.Tools) >= maxTools:
		return r.fail("there are more than %d tools", maxTools)
	}
	t := Tool{Name: r.tool, Definition: Definition{values[1], values[2], values[3], values[4]}, Annotations: values[5]}
	if len(t.Annotations) > maxAnnotations {
		t.Annotations = hash(t.Annotations)
	}
	t.Hash = hash(t.canonical(t.Name))
	r.pin.Tools = append(r.pin.Tools, t)
	r.tool = ""
	return nil
}

// checkCase refuses a name that some programs, which ignore case, take for want.
func (r *reader) checkCase(name []byte, want string) error {
	if sameButCase(name, want) {
		return r.fail("the member %s differs from %s by its case, and some programs read it as %s", show.Named(string(name), 60), want, want)
	}
	return nil
}

func merge(tools []Tool) []Tool {
	slices.SortFunc(tools, func(a, b Tool) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Hash+a.Annotations, b.Hash+b.Annotations)
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
				annotations.WriteString(same.Annotations + "\n")
			}
			t = Tool{Name: t.Name, Hash: hash(hashes.String()), Annotations: hash(annotations.String()), Times: end - i}
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
	r := &reader{scanner: scanner{in: result}}
	if len(result) > maxPages {
		return Server{}, &InvalidError{What: what, Reason: fmt.Sprintf("it has more than %d bytes", maxPages)}
	}
	var name, version, instructions string
	text := func(into *string) error {
		at := len(r.out)
		err := r.value()
		*into = string(r.out[at:])
		if plain, ok := Unquote(*into); ok {
			*into = plain
		} else if *into == "null" {
			*into = ""
		}
		return err
	}
	if r.peek() != '{' {
		return Server{}, r.explain(r.fail("it is not an object"), what)
	}
	err := r.object(func(key []byte) error {
		if err := errors.Join(r.checkCase(key, "serverInfo"), r.checkCase(key, "instructions")); err != nil {
			return err
		}
		switch {
		case string(key) == "instructions":
			return text(&instructions)
		case string(key) != "serverInfo" || r.peek() != '{':
			return r.value()
		}
		return r.object(func(key []byte) error {
			switch {
			case string(key) == "name":
				return text(&name)
			case string(key) == "version":
				return text(&version)
			}
			return r.value()
		})
	})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return Server{}, r.explain(err, what)
	}
	return NewServer(name, version, instructions), nil
}
