package policy

import (
	"slices"
	"strings"
)

// ListItems returns what a word of a command line, or the value of a variable, lists on a system as in
// runtime.GOOS: the paths and URLs between commas or between the separators of PATH, and dir for "dir/*".
// A word that lists nothing is its only item.
func ListItems(system, word string) []string {
	items, separators := []string{word}, []string{":", ","}
	if system == "windows" {
		separators[0] = ";"
	}
	for _, separator := range separators {
		list := slices.DeleteFunc(strings.Split(word, separator), func(item string) bool { return item == "" })
		if len(list) > 1 && !slices.ContainsFunc(list, func(item string) bool { return !strings.ContainsAny(item, `/\`) }) {
			items = list
		}
	}
	for i, item := range items {
		items[i] = strings.TrimSuffix(strings.TrimSuffix(item, "/*"), `\*`)
	}
	return items
}
