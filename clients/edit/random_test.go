package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// A writer makes random files. Each has the servers s0, s1, … in a table servers.
type writer struct {
	*rand.Rand
	format Format
}

func (w writer) one(texts ...string) string { return texts[w.IntN(len(texts))] }

// word returns a word in some spelling. flow says that it stands between brackets.
func (w writer) word(flow bool) string {
	switch word := w.one("npx", "-y", "pkg@1.0", "/a b/c", "it's", `a"b`, "é\u2028ü", "--x=[1],{2}", "# no comment", "a: b", "", "// no", `\n`); {
	case w.format == JSON:
		text, _ := json.Marshal(word)
		return w.one(string(text), strings.Replace(string(text), "p", `\u0070`, 1), strings.Replace(string(text), "/", `\/`, 1))
	case w.format == TOML && w.IntN(3) == 0 && !strings.ContainsAny(word, "'\u2028"):
		return "'" + word + "'"
	case w.format == YAML && w.IntN(3) == 0:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(word, "'", "''"), "\u2028", "") + "'"
	case w.format == YAML && w.IntN(2) == 0 && !flow:
		return w.one("npx", "-y", "pkg@1.0", "/a b/c", "it's", "a[1],b")
	default:
		return fmt.Sprintf("%q", word)
	}
}

func (w writer) space() string {
	if w.format == JSON && w.IntN(3) == 0 {
		return w.one("\n", " /* \"c\": [ */ ", "\t", " // d, {\n   ", "\r\n  ")
	}
	return w.one("", " ", "  ")
}

// list returns a list between brackets.
func (w writer) list() string {
	var words []string
	for range w.IntN(4) {
		words = append(words, w.space()+w.word(true)+w.space())
	}
	text := strings.Join(words, ",")
	if len(words) > 0 && w.IntN(4) == 0 && w.format != YAML {
		text += ","
	}
	return "[" + text + w.space() + "]"
}

// entry returns the members of an entry: those of a key and value each.
func (w writer) entry(flow bool) (keys []string, values map[string]string) {
	values = map[string]string{"command": w.word(flow)}
	keys = []string{"command"}
	if w.IntN(3) > 0 {
		keys, values["args"] = append(keys, "args"), w.list()
	} else if w.IntN(4) == 0 {
		values["command"] = "[" + w.word(true) + ", " + w.word(true) + "]"
	}
	for _, key := range []string{"cwd", "note"} {
		if w.IntN(3) == 0 {
			keys, values[key] = append(keys, key), w.word(flow)
		}
	}
	w.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys, values
}

func (w writer) file() string {
	end := w.one("\n", "\r\n")
	var b strings.Builder
	switch w.format {
	case JSON:
		colon := w.one(":", ": ", " : ")
		b.WriteString(w.one("", byteOrderMark) + "{" + w.space() + `"other"` + colon + w.list() + "," + w.space() + `"servers"` + colon + "{")
		for i := range 1 + w.IntN(3) {
			keys, values := w.entry(true)
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "%s\"s%d\"%s{", w.space(), i, colon)
			for i, key := range keys {
				if i > 0 {
					b.WriteString(",")
				}
				b.WriteString(w.space() + `"` + key + `"` + colon + values[key])
			}
			b.WriteString(w.one("", ",", " , ") + w.space() + "}")
		}
		b.WriteString(w.space() + "}" + w.space() + "}" + w.one("", end))
	case TOML:
		b.WriteString("other = " + w.list() + " # c" + end)
		form := w.IntN(3) // headers, dotted keys, inline tables
		for i := range 1 + w.IntN(3) {
			keys, values := w.entry(false)
			header, prefix, equals, until := fmt.Sprintf("[servers.s%d]%s", i, end), w.one("", "  "), w.one(" = ", "="), w.one(end, " # c"+end)
			switch form {
			case 1:
				header, prefix = "", fmt.Sprintf("servers.s%d.", i)
			case 2:
				header, prefix, until = fmt.Sprintf("servers.s%d = {", i), w.one("", " "), w.one(",", ", ")
			}
			text := header
			for _, key := range keys {
				text += prefix + key + equals + values[key] + until
			}
			if form == 2 {
				text = strings.TrimRight(text, ", ") + w.one("", " ") + "}" + end
			}
			b.WriteString(text)
		}
	case YAML:
		b.WriteString("other: " + w.list() + " # c" + end + "servers:" + end)
		for i := range 1 + w.IntN(3) {
			flow := w.IntN(3) == 0
			keys, values := w.entry(flow)
			if flow {
				var members []string
				for _, key := range keys {
					members = append(members, key+": "+values[key])
				}
				fmt.Fprintf(&b, "  s%d: {%s}%s", i, strings.Join(members, ", "), end)
				continue
			}
			fmt.Fprintf(&b, "  s%d:%s", i, end)
			for _, key := range keys {
				value := " " + values[key]
				if key == "args" && w.IntN(2) == 0 {
					indent := end + w.one("    ", "      ") + "- "
					value = indent + w.word(false) + w.one("", " # c") + indent + w.word(false)
				}
				b.WriteString("    " + key + ":" + value + w.one("", "  # c") + end)
			}
		}
	}
	return strings.TrimSuffix(b.String(), w.one(end, "no"))
}

// values reads a file with a parser that the package does not use, if there is one.
func values(t *testing.T, format Format, src []byte) (v map[string]any) {
	t.Helper()
	var err error
	src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	switch format {
	case JSON:
		if src, err = hujson.Standardize(append(bytes.Clone(src), '\n')); err == nil {
			err = json.Unmarshal(src, &v)
		}
	case TOML:
		err = toml.Unmarshal(src, &v)
	case YAML:
		err = yaml.Unmarshal(src, &v)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, src)
	}
	return v
}

// TestRandom wraps and unwraps servers of random files: the words of the chosen ones change, nothing else
// does, and the bytes come back.
func TestRandom(t *testing.T) {
	table := Table{Path: []string{"servers"}}
	for _, format := range []Format{JSON, TOML, YAML} {
		w := writer{rand.New(rand.NewPCG(7, uint64(format))), format}
		changed, refused := 0, 0
		for range 1000 {
			src := []byte(w.file())
			f, err := Parse(format, src)
			if err != nil {
				t.Fatalf("%v:\n%s", err, src)
			}
			var changes []Change
			for _, s := range f.Servers(table) {
				if c := (Change{Server: s, Words: []string{"/opt/mcp-jail", "run", "--id", s.Name + "-0", "--"}}); w.IntN(3) > 0 {
					if _, err := f.Apply(c); err != nil {
						refused++
						continue
					}
					changes = append(changes, c)
				}
			}
			wrapped, err := f.Apply(changes...)
			if err != nil {
				t.Fatalf("all of them: %v:\n%s", err, src)
			}
			was, is := values(t, format, src), values(t, format, wrapped)
			g, err := Parse(format, wrapped)
			if err != nil {
				t.Fatalf("%v:\n%s", err, wrapped)
			}
			var back []Change
			for _, c := range changes {
				changed++
				before, after := was["servers"].(map[string]any)[c.Server.Name].(map[string]any), is["servers"].(map[string]any)[c.Server.Name].(map[string]any)
				list := func(entry map[string]any) (words []string) {
					for _, key := range []string{"command", "args"} {
						switch value := entry[key].(type) {
						case string:
							words = append(words, value)
						case []any:
							for _, word := range value {
								words = append(words, word.(string))
							}
						}
						delete(entry, key)
					}
					return words
				}
				if want, got := slices.Concat(c.Words, list(before)), list(after); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s starts %q, want %q:\n%s", c.Server.Name, got, want, wrapped)
				}
				back = append(back, Change{Server: g.again(c.Server), Drop: len(c.Words)})
			}
			if !reflect.DeepEqual(was, is) {
				t.Fatalf("more has changed:\n%s\n%s", src, wrapped)
			}
			if again, err := g.Apply(back...); err != nil || !bytes.Equal(again, src) {
				t.Fatalf("%v, the bytes do not come back:\n%q\n%q\n%q", err, src, wrapped, again)
			}
		}
		if t.Logf("%v: %d changed, %d refused", format, changed, refused); changed < 800 || refused > changed/10 {
			t.Errorf("%v: %d changed, %d refused", format, changed, refused)
		}
	}
}
