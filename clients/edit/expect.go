package edit

import (
	"errors"
	"slices"
	"strconv"
)

// cut takes the command line of a server out of the values that the second parser has read. It needs no
// places, so it is the measure for the change in the text.
func (s *Server) cut(file any) (rest any, words []any, err error) {
	path := s.Path
	if s.nested != "" {
		path = append(slices.Clone(path), s.nested)
	}
	if rest, words = cutAt(file, path, s.table.Command, s.table.Args, s.List); words == nil {
		err = errors.New("one of them finds another command line")
	}
	return rest, words, err
}

func cutAt(v any, path []string, command, args string, whole bool) (rest any, words []any) {
	if len(path) > 0 {
		inner, _ := lookup(v, path[0])
		inner, words = cutAt(inner, path[1:], command, args, whole)
		return with(v, path[0], inner), words
	}
	program, _ := lookup(v, command)
	if list, isList := program.([]any); whole && isList {
		return without(v, command), list
	}
	if program == nil || whole {
		return v, nil
	}
	list, _ := lookup(v, args)
	arguments, _ := list.([]any)
	return without(without(v, command), args), append([]any{program}, arguments...)
}

// finds reports whether both parsers have found the same words, or a change would hit others.
func (s *Server) finds(words []any) bool {
	for i, word := range words {
		if text, isText := word.(string); isText && (i >= len(s.Words) || text != s.Words[i]) || i == 0 && !isText && !s.List {
			return false
		}
	}
	return len(words) == len(s.Words)
}

// isMade reports whether some words are those that a change makes of others.
func (c *Change) isMade(of, words []any) bool {
	if len(words) != len(of)-c.Drop+len(c.Words) {
		return false
	}
	for i, word := range c.Words {
		if words[i] != any(word) {
			return false
		}
	}
	return sameList(words[len(c.Words):], of[c.Drop:])
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

// with returns v with another value of a member or element.
func with(v any, name string, value any) any {
	switch v := v.(type) {
	case object:
		for i := range v {
			if v[i].name == name {
				v[i].value = value
			}
		}
	case map[string]any:
		v[name] = value
	case map[any]any:
		v[name] = value
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			v[i] = value
		}
	case []map[string]any:
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			v[i], _ = value.(map[string]any)
		}
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
