package learned

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
)

// A slot is an argument or a variable whose value a rule is about.
type slot struct {
	value    string
	at       string // the path that the value stands for
	variable string // its name; "" for an argument
	rights   policy.Rights
	inner    bool // a rule is about something in it
	kind     presets.Kind
	scheme   string
	port     int
}

// slotOf returns the slot with the deepest path around a path, or nil. Each word counts as a
// path: one that is none leads to nothing.
func (m *maker) slotOf(at string) (deepest *slot) {
	m.each(func(value, variable string) {
		if value == "" || strings.Contains(value, "://") {
			return
		}
		dir := m.absolute(value)
		if dir == "/" || dir == m.Home || !policy.Within(at, dir) {
			return
		}
		if deepest == nil || len(dir) > len(deepest.at) {
			deepest = m.slot(value, variable)
			deepest.at = dir
		}
	})
	return deepest
}

// slotOfHost returns the slot that names the host of a rule, or nil.
func (m *maker) slotOfHost(r policy.NetRule) (found *slot) {
	m.each(func(value, variable string) {
		scheme, rest, isURL := strings.Cut(value, "://")
		if !isURL {
			rest = value
		}
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		name, _, _ := strings.Cut(rest, ":")
		if found != nil || !strings.EqualFold(name, r.Host) {
			return
		}
		found = m.slot(value, variable)
		switch {
		case isURL && slices.Contains([]string{"http", "https", "ws", "wss"}, scheme):
			found.kind = presets.URL
		case isURL:
			found.kind = presets.Database
		default:
			found.kind, found.scheme, found.port = presets.Host, r.Scheme, r.Port
		}
	})
	return found
}

// each calls f for the value of each argument and variable.
func (m *maker) each(f func(value, variable string)) {
	for _, word := range m.Words {
		if _, value, joined := strings.Cut(word, "="); joined && strings.HasPrefix(word, "-") {
			word = value
		}
		f(word, "")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		f(m.Values[name], name)
	}
}

func (m *maker) slot(value, variable string) *slot {
	key := variable + "=" + value
	if m.slots[key] == nil {
		m.slots[key] = &slot{value: value, variable: variable}
	}
	return m.slots[key]
}

// used returns the slot of a value that a rule is about, or nil.
func (m *maker) used(value, variable string) *slot {
	if s := m.slots[variable+"="+value]; s != nil && (s.rights != 0 || s.kind != presets.PlainText) {
		return s
	}
	return nil
}

// A placed slot has the words that say which argument of a command line it is.
type placed struct {
	fields []string
	slot   *slot
}

// arguments returns the slots of the command line, as a preset counts them.
func (m *maker) arguments() (all []placed) {
	position, positions := 0, 0
	for i := 0; i < len(m.Words); i++ {
		word := m.Words[i]
		if flag, value, joined := strings.Cut(word, "="); strings.HasPrefix(word, "-") && word != "-" {
			if !joined && i+1 < len(m.Words) && m.used(m.Words[i+1], "") != nil {
				i++
				value = m.Words[i]
			}
			s := m.used(value, "")
			same := func(p placed) bool { return p.fields[0] == "flag = "+quoted(flag) }
			if s != nil && !slices.ContainsFunc(all, same) {
				all = append(all, placed{[]string{"flag = " + quoted(flag)}, s})
			}
			continue
		}
		position++
		if s := m.used(word, ""); s != nil {
			positions++
			all = append(all, placed{[]string{"position = " + number(position)}, s})
		}
	}
	if positions < 2 || positions != position {
		return all
	}
	return m.together(all)
}

// together returns positions that all name directories as one: each word may be such a directory.
func (m *maker) together(all []placed) (out []placed) {
	rest := &slot{}
	for _, p := range all {
		isPosition := strings.HasPrefix(p.fields[0], "position")
		if isPosition && (p.slot.kind != presets.PlainText || m.isFile(p.slot)) {
			return all
		}
		if isPosition {
			rest.rights, rest.inner = rest.rights|p.slot.rights, rest.inner || p.slot.inner
		} else {
			out = append(out, p)
		}
	}
	return append(out, placed{[]string{"rest = true"}, rest})
}

// value returns what a preset says of the value of a slot.
func (m *maker) value(s *slot, of string) (fields []string) {
	if s.kind != presets.PlainText {
		fields = append(fields, "kind = "+quoted(string(s.kind)))
		if s.scheme != "" {
			fields = append(fields, "scheme = "+quoted(s.scheme))
		}
		if s.port != 0 {
			fields = append(fields, "port = "+number(s.port))
		}
		return fields
	}
	kind := presets.Directory
	if m.isFile(s) {
		kind = presets.File
	} else if s.inner {
		m.note(of)
	}
	fields = append(fields, "kind = "+quoted(string(kind)))
	for _, r := range []struct {
		key   string
		right policy.Rights
	}{{"read", policy.Read}, {"create", policy.Create}, {"update", policy.Update}, {"delete", policy.Delete}, {"execute", policy.Execute}} {
		if s.rights.Has(r.right) {
			fields = append(fields, r.key+" = true")
		}
	}
	return fields
}

func (m *maker) isFile(s *slot) bool {
	return !s.inner && s.at != "" && m.IsFile != nil && m.IsFile(s.at)
}
