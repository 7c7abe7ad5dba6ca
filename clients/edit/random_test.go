package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// values reads a file with a parser that the package does not use, if there is one.
func values(format Format, src []byte) (v map[string]any, err error) {
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
	return v, err
}

// takeWords removes the words of a server from what a parser has read, and returns them.
func takeWords(root any, path []string) (words []string) {
	for _, key := range path {
		switch parent := root.(type) {
		case map[string]any:
			root = parent[key]
		case []any: // in a list, the key is the number
			if at, err := strconv.Atoi(key); err == nil && at < len(parent) {
				root = parent[at]
			}
		}
	}
	v, _ := root.(map[string]any)
	for _, key := range []string{"command", "args"} {
		switch value := v[key].(type) {
		case string:
			words = append(words, value)
		case []any:
			for _, word := range value {
				text, _ := word.(string)
				words = append(words, text)
			}
		}
		delete(v, key)
	}
	return words
}

// TestRandom wraps and unwraps servers of mutated files: the words of the chosen ones change, nothing
// else does, and the bytes come back.
func TestRandom(t *testing.T) {
	rounds := testkit.Rounds(1000, 30000)
	for _, format := range []Format{JSON, TOML, YAML} {
		r := rand.New(rand.NewPCG(7, uint64(format)))
		files := slices.DeleteFunc(readerFiles(t, format), func(text []byte) bool { _, inside, _ := jailAll(format, text); return len(inside) == 0 })
		changed := 0
		for range rounds {
			src := mutate(r, files[r.IntN(len(files))])
			wrapped, inside, _ := jailAll(format, src)
			was, err := values(format, src)
			if len(inside) == 0 || err != nil {
				continue
			}
			is, err := values(format, wrapped)
			if err != nil {
				t.Fatalf("%v: no parser reads the wrapped file any more:\n%q\n%q", err, src, wrapped)
			}
			g, err := Parse(format, wrapped)
			if err != nil {
				t.Fatalf("%v:\n%q", err, wrapped)
			}
			var back []Change
			for _, s := range inside {
				changed++
				if want, got := append(slices.Clone(wrapper), takeWords(was, s.Path)...), takeWords(is, s.Path); len(got) > 0 && !slices.Equal(got, want) {
					t.Fatalf("%s starts %q, want %q:\n%q", s.Name, got, want, wrapped)
				}
				back = append(back, Change{Server: g.again(s), Drop: len(wrapper)})
			}
			if fmt.Sprintf("%#v", was) != fmt.Sprintf("%#v", is) { // NaN is not NaN
				t.Fatalf("more has changed:\n%q\n%q", src, wrapped)
			}
			if again, err := g.Apply(back...); err != nil || !bytes.Equal(again, src) {
				t.Fatalf("%v, the bytes do not come back:\n%q\n%q\n%q", err, src, wrapped, again)
			}
		}
		if t.Logf("%v: %d changed", format, changed); changed < rounds*2/5 {
			t.Errorf("%v: only %d servers changed", format, changed)
		}
	}
}
