package winjail

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Environment returns variables in the form that CreateProcessW takes: sorted by name without regard to
// case, each with a zero at its end, and one more zero. It refuses two variables of one name, since
// programs differ about which of them counts.
func Environment(env []string) ([]uint16, error) {
	sorted := slices.Clone(env)
	slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(folded(a), folded(b)) })
	var block []uint16
	last := ""
	for i, v := range sorted {
		name, _, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("a variable has no name: %q", v)
		case strings.ContainsRune(v, 0):
			return nil, fmt.Errorf("the variable %s has a zero byte, which would end it early", strings.ReplaceAll(name, "\x00", "?"))
		case i > 0 && folded(v) == last:
			return nil, fmt.Errorf("there are two variables %s, which Windows takes for one", name)
		}
		last = folded(v)
		block = append(append(block, utf16.Encode([]rune(v))...), 0)
	}
	if block == nil {
		block = []uint16{0}
	}
	return append(block, 0), nil
}

// folded returns the name of a variable in the form by which names are compared.
func folded(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return strings.ToUpper(name)
}
