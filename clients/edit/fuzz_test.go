package edit

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func FuzzJSON(f *testing.F) { fuzzFormat(f, JSON) }
func FuzzTOML(f *testing.F) { fuzzFormat(f, TOML) }
func FuzzYAML(f *testing.F) { fuzzFormat(f, YAML) }

// fuzzFormat puts words in front of each server of a file, and checks that the file with the
// words has the command line that it should have, and that removing them gives back the
// bytes. A refusal is always allowed.
func fuzzFormat(f *testing.F, format Format) {
	for _, r := range refusals {
		if r.format == format {
			f.Add([]byte(r.text))
		}
	}
	for _, text := range clientFiles(f, format) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse(format, src)
		if err != nil {
			return
		}
		for _, path := range [][]string{{}, {"*"}, {"*", "*"}} {
			table := Table{Path: path, Nested: "transport"}
			for i, s := range file.Servers(table) {
				fuzzServer(t, file, table, i, s)
			}
		}
	})
}

func fuzzServer(t *testing.T, file *File, table Table, i int, s Server) {
	wrapped, err := file.Apply(Change{Server: s, Words: wrapper})
	if err != nil {
		return
	}
	g, err := Parse(file.format, wrapped)
	if err != nil {
		t.Fatalf("%q becomes %q: %v", file.src, wrapped, err)
	}
	servers := g.Servers(table)
	if i >= len(servers) || !slices.Equal(servers[i].Words, append(slices.Clone(wrapper), s.Words...)) {
		t.Fatalf("%q becomes %q with other servers", file.src, wrapped)
	}
	back, err := g.Apply(Change{Server: servers[i], Drop: len(wrapper)})
	if err != nil || !bytes.Equal(back, file.src) {
		t.Fatalf("%q becomes %q, and back %q: %v", file.src, wrapped, back, err)
	}
	if len(s.Words) > 1 { // removing words that were never put there must keep the values
		if _, err := file.Apply(Change{Server: s, Drop: 1}); err != nil && strings.Contains(err.Error(), "would not say") {
			t.Fatalf("%q: %v", file.src, err)
		}
	}
}
