package config

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// This file has the kinds of values of which the tables consist, each with the place where it is kept.

type (
	node  = show.Node
	key   = reader.Key
	value = reader.Value
)

// row is a key that may be left out. preset is what holds without it, if that is one value.
func row(name string, v value, text string, preset ...any) key {
	k := key{Name: name, Value: v, Text: text}
	if len(preset) > 0 {
		k.Preset = preset[0]
	}
	return k
}

// needed is a key that every table of its kind has. advice is what to write.
func needed(name string, v value, text, advice string) key {
	return key{Name: name, Value: v, Text: text, Needs: "has no " + name + advice}
}

func bounds(low, high int64) value { return value{Kind: show.Integer, Low: low, High: high} }

func words(all ...string) value { return value{Kind: show.String, Words: all} }

func number(to *int, low, high int64) value {
	v := bounds(low, high)
	v.Keep = func(n *node, _ string) { *to = int(n.Int) }
	return v
}

func flag(to *bool) value {
	return value{Kind: show.Bool, Keep: func(n *node, _ string) { *to = n.Bool }}
}

// optional is true, false or left out.
func optional(to **bool) value {
	return value{
		Kind: show.Bool,
		Keep: func(n *node, _ string) { b := n.Bool; *to = &b },
		Write: func() string {
			if *to == nil {
				return ""
			}
			return fmt.Sprint(**to)
		},
	}
}

// text is any string.
func text(to *string) value {
	return value{
		Kind: show.String,
		Keep: func(n *node, _ string) { *to = n.Text },
		Write: func() string {
			if *to == "" {
				return ""
			}
			return show.TOML(*to)
		},
	}
}

// word is a string that is not empty.
func word(to *string) value {
	v := text(to)
	v.Empty = "is empty"
	return v
}

func choice(to *string, all ...string) value {
	v := text(to)
	v.Words = all
	return v
}

// like is a string of a form.
func like(to *string, f form) value {
	v := text(to)
	v.Form = f
	return v
}

// placed also keeps where a value is.
func placed(where *string, v value) value {
	keep := v.Keep
	v.Keep = func(n *node, at string) {
		*where = at
		if keep != nil {
			keep(n, at)
		}
	}
	return v
}

func table(where *string, keys []key) value {
	return placed(where, value{Kind: show.Table, Keys: keys})
}

// list is an array whose items are kept in a slice, which is not nil then.
func list[T any](to *[]T, item func(*T) value) value {
	return value{
		Kind: show.Array,
		Keep: func(*node, string) { *to = []T{} },
		Items: func() value {
			*to = append(*to, *new(T))
			return item(&(*to)[len(*to)-1])
		},
	}
}

func texts(to *[]string) value { return list(to, text) }

// oneOrMany is an item, or an array of such items. empty is what is wrong with an empty array.
func oneOrMany[T any](to *[]T, item func(*T) value, empty string) value {
	many := list(to, item)
	many.Empty = empty
	var single T
	one := item(&single)
	check := one.Check
	one.Check = func(n *node) (err error) {
		if check != nil {
			err = check(n)
		}
		*to = []T{single}
		return err
	}
	return value{Any: []value{one, many}}
}

// joined is an array, or { strategy = "...", value = [...] } in its place.
func joined(merge *map[string]strategy, name string, v value) value {
	how := words(string(Append), string(prepend), string(replace), string(dedup))
	how.Keep = func(n *node, _ string) {
		if *merge == nil {
			*merge = map[string]strategy{}
		}
		(*merge)[name] = strategy(n.Text)
	}
	with := value{
		Kind: show.Table, Is: func(n *node) bool { return n.Table["strategy"] != nil || n.Table["value"] != nil },
		Keys: []key{
			{Name: "strategy", Value: how, Needs: "has a value without a strategy", Text: "How the list joins that of earlier files: after it, before it, in its place, or after it without repetitions."},
			{Name: "value", Value: v, Needs: "has a strategy without a value", Text: "The list itself."},
		},
	}
	either := value{Any: []value{v, with}}
	if v.Write != nil {
		either.Write = func() string { return joinedText(v.Write(), (*merge)[name]) }
	}
	return either
}

// joinedText writes a list with its strategy.
func joinedText(list string, s strategy) string {
	if list == "" || s == "" {
		return list
	}
	return fmt.Sprintf("{ strategy = %q, value = %s }", string(s), list)
}
