package edit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	burntsushi "github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// check returns why a file is not what some changes should make of it. Other parsers read both: they must
// find the words of each change, and else the values of before. If the changes only add words, removing
// them must give back the file.
func (f *File) check(result []byte, changes []Change) error {
	g := &File{format: f.format, src: result}
	refuse := func(c *Change, reason string) error {
		return c.refuse(&Fault{Line: c.Server.Line, Reason: reason, Fix: "put the program between double quotes in one line, or change the entry by hand"})
	}
	was, err1 := f.decode()
	err2 := g.parse()
	is, err3 := g.decode()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return refuse(&changes[0], "the changed file would not be read any more ("+err.Error()+")")
	}
	inverse := make([]Change, len(changes))
	for i := range changes {
		c := &changes[i]
		old, words := c.Server.take(was), c.Server.take(is)
		if !c.Server.finds(old) {
			return refuse(c, "the two parsers of mcp-jail read it differently")
		}
		want := make([]any, len(c.Words))
		for i, word := range c.Words {
			want[i] = word
		}
		if !reflect.DeepEqual(words, append(want, old[c.Drop:]...)) {
			return refuse(c, "the changed file would not say what it should")
		}
		if c.Drop == 0 {
			inverse[i] = Change{Server: g.again(c.Server), Drop: len(c.Words)}
		}
	}
	if !reflect.DeepEqual(is, was) {
		return refuse(&changes[0], "the changed file would not say what it should")
	}
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Drop > 0 }) {
		return nil
	}
	if all, err := g.splices(inverse); err != nil || !bytes.Equal(spliced(result, all), f.src) {
		return refuse(&changes[0], "the change could not be undone exactly")
	}
	return nil
}

// again returns a server of another version of the file.
func (f *File) again(s Server) (again Server) {
	f.root.each(s.Path, nil, s.Line, nil, func(_ []string, entry *node, line int, twice *Fault) {
		again = f.server(Server{Name: s.Name, Path: s.Path, Line: line, file: f, table: s.table}, entry, twice)
	})
	return again
}

// finds reports whether both parsers have found the same words, or a change would hit others.
func (s *Server) finds(words []any) bool {
	return slices.EqualFunc(words, s.Words, func(found any, word string) bool {
		text, isText := found.(string)
		return !isText || text == word
	})
}

// take takes the command line of a server out of the values of a file.
func (s *Server) take(v any) []any {
	path := s.Path
	if s.nested != "" {
		path = append(slices.Clip(path), s.nested)
	}
	for _, key := range path {
		if list, isList := v.([]any); isList {
			if i, _ := strconv.Atoi(key); i < len(list) {
				v = list[i]
			}
			continue
		}
		table, _ := v.(map[string]any)
		v = table[key]
	}
	entry, _ := v.(map[string]any)
	command, arguments := entry[s.table.Command], entry[s.table.Args]
	delete(entry, s.table.Command)
	if list, isList := command.([]any); isList {
		return list
	}
	delete(entry, s.table.Args)
	list, _ := arguments.([]any)
	return append([]any{command}, list...)
}

// decode returns the values of the file, by parsers that know no places.
func (f *File) decode() (any, error) {
	if f.root.kind == 0 {
		return nil, nil
	}
	var v any
	var err error
	switch text := f.text(); f.format {
	case JSON:
		// hujson wants a line end after a last comment.
		if text, err = hujson.Standardize(append(bytes.Clone(text), '\n')); err == nil {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			err = d.Decode(&v)
		}
	case TOML:
		err = burntsushi.Unmarshal(text, &v)
	default:
		err = yaml.Unmarshal(text, &v)
	}
	if err != nil {
		return nil, f.syntax(lineOf(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return plain(v), nil
}

// plain returns a value with one kind of table, one of list, and a NaN that equals itself.
func plain(v any) any {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map:
		table := make(map[string]any, r.Len())
		for key, value := range r.Seq2() {
			name, isText := key.Interface().(string)
			if !isText {
				name = fmt.Sprintf("%T %v", key.Interface(), key)
			}
			table[name] = plain(value.Interface())
		}
		return table
	case reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = plain(r.Index(i).Interface())
		}
		return list
	case reflect.Float64:
		if math.IsNaN(r.Float()) {
			return "NaN"
		}
	}
	return v
}

// lineOf returns the line that an error of a parser names, or 0.
func lineOf(err error) (line int) {
	if e := (burntsushi.ParseError{}); errors.As(err, &e) {
		return e.Position.Line
	}
	if _, rest, found := strings.Cut(err.Error(), "line "); found {
		_, _ = fmt.Sscanf(rest, "%d", &line)
	}
	return line
}
