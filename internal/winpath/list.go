package winpath

import "strings"

// SplitList returns the items of a list such as PATH. Semicolons are between them, but for those in quotation
// marks. The marks are no part of an item.
func SplitList(list string) (items []string) {
	item, quoted := strings.Builder{}, false
	for _, r := range list + ";" {
		switch {
		case r == '"':
			quoted = !quoted
		case r != ';' || quoted:
			item.WriteRune(r)
		default:
			items = append(items, item.String())
			item.Reset()
		}
	}
	if quoted { // a mark that nothing closes
		items = append(items, strings.TrimSuffix(item.String(), ";"))
	}
	return items
}
