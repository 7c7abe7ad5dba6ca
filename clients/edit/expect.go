package edit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// expect makes a change in the values that the second parser has read. It needs no places,
// so it is the measure for the change in the text. removed reports that the list of
// arguments goes away.
func expect(file any, c *Change, removed bool) (any, error) {
	path := c.Server.Path
	if c.Server.nested != "" {
		path = append(slices.Clone(path), c.Server.nested)
	}
	return descend(file, path, func(entry any) (any, error) { return expectEntry(entry, c, removed) })
}

func descend(v any, path []string, change func(any) (any, error)) (any, error) {
	if len(path) == 0 {
		return change(v)
	}
	inner, found := lookup(v, path[0])
	if !found {
		return nil, fmt.Errorf("one of them does not find %q", path[0])
	}
	inner, err := descend(inner, path[1:], change)
	if err != nil {
		return nil, err
	}
	return with(v, path[0], inner, ""), nil
}

func lookup(v any, name string) (any, bool) {
	switch v := v.(type) {
	case object:
		// Of two members with one name, encoding/json and JavaScript take the last.
		for _, f := range slices.Backward(v) {
			if f.name == name {
				return f.value, true
			}
		}
	case map[string]any:
		value, found := v[name]
		return value, found
	case map[any]any: // of YAML, with keys that are numbers
		value, found := v[name]
		return value, found
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			return v[i], true
		}
	case []map[string]any: // of BurntSushi/toml
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// with returns v with a member or element set. A new member of an object comes after the
// one named after.
func with(v any, name string, value any, after string) any {
	switch v := v.(type) {
	case object:
		at := 0
		for i, f := range v {
			if f.name == name {
				v[i].value = value
				return v
			}
			if f.name == after {
				at = i + 1
			}
		}
		return slices.Insert(v, at, field{name, value})
	case map[string]any:
		v[name] = value
	case map[any]any:
		v[name] = value
	case []any:
		i, _ := strconv.Atoi(name)
		v[i] = value
	case []map[string]any:
		i, _ := strconv.Atoi(name)
		v[i], _ = value.(map[string]any)
	}
	return v
}

func without(v any, name string) any {
	switch v := v.(type) {
	case object:
		return slices.DeleteFunc(v, func(f field) bool { return f.name == name })
	case map[string]any:
		delete(v, name)
	case map[any]any:
		delete(v, name)
	}
	return v
}

func expectEntry(entry any, c *Change, removed bool) (any, error) {
	s := &c.Server
	program, _ := lookup(entry, s.table.Command)
	list, hasList := lookup(entry, s.table.Args)
	arguments, _ := list.([]any)
	words := arguments
	// Both parsers must have found the same words, or the change would hit others.
	if whole, isList := program.([]any); isList && s.List {
		words = whole
	} else if !s.List {
		words = append([]any{program}, arguments...)
	}
	if len(words) != len(s.Words) || c.At+c.Drop > len(words) {
		return nil, errors.New("one of them finds another command line")
	}
	if first, isText := words[0].(string); !isText && !s.List || isText && first != s.Words[0] {
		return nil, errors.New("one of them finds another program")
	}
	changed := slices.Clone(words[:c.At])
	for _, word := range c.Words {
		changed = append(changed, word)
	}
	changed = append(changed, words[c.At+c.Drop:]...)
	switch {
	case s.List:
		return with(entry, s.table.Command, changed, ""), nil
	case removed:
		entry = without(entry, s.table.Args)
	case hasList || len(changed) > 1:
		entry = with(entry, s.table.Args, append([]any{}, changed[1:]...), s.table.Command)
	}
	return with(entry, s.table.Command, changed[0], ""), nil
}
