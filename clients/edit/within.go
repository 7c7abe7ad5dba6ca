package edit

import "strings"

// replaceWithin replaces the words of a list from an index on, which is not 0. New words are
// separated as the two words are between which they come.
func (p *splicer) replaceWithin(list *node, at int, texts []string) *RefusedError {
	next := at + p.change.Drop // it stays
	for _, item := range list.items[at-1 : next+1] {
		if item.start < 0 {
			return p.refuse(item, "the place of a word was not found", "")
		}
	}
	if !list.flow {
		return p.replaceBlockWithin(list, at, next, texts)
	}
	if list.items[at-1].end < 0 {
		return p.refuseSpelling(list.items[at-1])
	}
	// A comment between the two words stays where it is, and is not copied.
	between := string(p.src()[list.items[at-1].end:list.items[at].start])
	if strings.Trim(between, " \t\r\n") != "," {
		between = ", "
	}
	text := ""
	for _, t := range texts {
		text += t + between
	}
	p.add(list.items[at].start, list.items[next].start, text)
	return nil
}

func (p *splicer) replaceBlockWithin(list *node, at, next int, texts []string) *RefusedError {
	from, indent, ok := p.dash(list.items[at])
	to, same, ok2 := p.dash(list.items[next])
	if !ok || !ok2 || indent != same {
		return p.refuse(list.items[at], "the word is not directly after its dash", "write it there")
	}
	text := ""
	for _, t := range texts {
		text += "- " + t + lineEnd(p.src(), from-len(indent)) + indent
	}
	p.add(from, to, text)
	return nil
}

// dash returns the place of the dash before an item of a block list, and the blanks before it. It
// reports false if the two are not the beginning of a line.
func (p *splicer) dash(item *node) (at int, indent string, ok bool) {
	at = len(strings.TrimRight(string(p.src()[:item.start]), " \t")) - 1
	if at < 0 || p.src()[at] != '-' {
		return 0, "", false
	}
	indent = linePrefix(p.src(), at)
	return at, indent, strings.Trim(indent, " ") == ""
}
