package command

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed programs.txt
var programs string

// rows are those of programs.txt.
var rows = sync.OnceValue(func() (all []row) {
	for line := range strings.Lines(programs) {
		left, right, ok := strings.Cut(line, " :")
		if !ok || line[0] == '#' {
			continue
		}
		names, words := strings.Fields(left), strings.Fields(right)
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "%20", " ")
		}
		all = append(all, row{names[0], names[1:], words})
	}
	return all
})

type row struct {
	kind         string
	names, words []string
}

// wordsFor returns the words of the rows of a kind that have a name, and whether there is one.
func wordsFor(kind, name string) (words []string, ok bool) {
	for _, r := range rows() {
		if r.kind == kind && slices.Contains(r.names, name) {
			words, ok = append(words, r.words...), true
		}
	}
	return words, ok
}
