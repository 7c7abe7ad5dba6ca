package leak

import "slices"

// A place is a part of a text at which patterns may lie.
type place struct{ from, to int }

// margin is how much of the text around a suspicious byte belongs to its place: enough for the rest
// of an escape and for the white space between two lines.
const margin = 64

// suspects returns the places of a text outside which there is no pattern, in order.
func (s *search) suspects(text []byte) (all []place) {
	mark := func(from, to int) {
		from, to = max(0, from-margin), min(len(text), to+margin)
		if n := len(all); n > 0 && from <= all[n-1].to && from >= all[n-1].from {
			all[n-1].to = max(all[n-1].to, to)
			return
		}
		all = append(all, place{from, to})
	}
	s.markRuns(text, mark)
	sorted := len(all)
	s.markEscapes(text, mark)
	if len(all) == 0 {
		return nil
	}
	if len(all) > sorted && sorted > 0 {
		slices.SortFunc(all, func(a, b place) int { return a.from - b.from })
	}
	merged := all[:1]
	for _, p := range all[1:] {
		if last := &merged[len(merged)-1]; p.from <= last.to {
			last.to = max(last.to, p.to)
		} else {
			merged = append(merged, p)
		}
	}
	for i := range merged { // an escape must not be read from its middle
		least := 0
		if i > 0 {
			least = merged[i-1].to
		}
		for merged[i].from > least && text[merged[i].from-1] == '\\' {
			merged[i].from--
		}
	}
	return merged
}

// markRuns marks where run bytes of a pattern are together. It looks at four bytes at every fifth
// place: four of the run bytes begin at such a place.
func (s *search) markRuns(text []byte, mark func(from, to int)) {
	const step = run - 4 + 1
	bits, shift := s.four.bits, s.four.shift&63
	for at := 0; at+4 <= len(text); at += step {
		h := four(text[at:]) >> shift
		if bits[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		// A run that has these four bytes begins at one of these places.
		for begin := max(0, at-step+1); begin <= at && begin+run <= len(text); begin++ {
			if s.eight.hasTwice(eight(text[begin:])) {
				mark(begin, begin+run)
			}
		}
	}
}

func (s *search) markEscapes(text []byte, mark func(from, to int)) {
	next := escapes{text: text, backslash: -1, percent: -1}
	for at := 0; at < len(text); {
		near := min(len(text), at+24) // a call takes longer than this loop
		for at < near && text[at] != '\\' && text[at] != '%' {
			at++
		}
		if at == near {
			at = next.from(at)
			continue
		}
		if text[at] == '\\' && at+2 < len(text) { // most escapes are one of these
			c, after := short[text[at+1]], text[at+2]
			if c != 0 && (s.classes[c] == foreign || s.classes[c] == unusual && !isStop(after) && !s.isPair(c, after) && !s.ends[c]) {
				at += 2
				continue
			}
		}
		n, suspicious := s.judge(text, at)
		if suspicious {
			mark(at, at+n)
		}
		at += n
	}
}

// judge returns the length of an escape, or 1 if there is none, and whether it may be a part of a
// pattern or of another escape. judge does not recognise an escape that contains escapes. The inner
// ones are suspicious, since they stand for letters and digits.
func (s *search) judge(text []byte, at int) (n int, suspicious bool) {
	rest := text[at:]
	switch {
	case len(rest) < 2:
	case rest[0] == '%':
		if len(rest) < 3 { // too short for an escape
			break
		}
		if high, low := digit(rest[1]), digit(rest[2]); high >= 0 && low >= 0 {
			return 3, s.isSuspicious(byte(high<<4|low), text, at, at+3)
		}
	case rest[1] == '\\':
		return 2, s.isNested(text, at)
	case rest[1] == 'u':
		if r, ok := unicodeEscape(rest); ok {
			if r >= 0x80 {
				return 6, s.high
			}
			return 6, s.isSuspicious(byte(r), text, at, at+6)
		}
	case short[rest[1]] != 0:
		return 2, s.isSuspicious(short[rest[1]], text, at, at+2)
	}
	return 1, false
}

// isNested reports whether the escape of a backslash may be a part of a pattern or of another
// escape.
func (s *search) isNested(text []byte, at int) bool {
	if s.backslash && s.mayStand('\\', text, at, at+2) {
		return true
	}
	rest := text[at+2:]
	if len(rest) == 0 {
		return true
	}
	c, n := rest[0], 3
	if c == '\\' { // the character after the backslash is escaped as well
		if len(rest) < 2 {
			return true
		}
		if c, n = rest[1], 4; short[c] != 0 && c != '"' && c != '/' && c != '\\' {
			return false // a backslash before a control character
		}
	}
	switch {
	case c == 'u' || c == '%' || c == '\\':
		return true
	case short[c] != 0:
		return s.isSuspicious(short[c], text, at, at+n)
	}
	return false
}

func (s *search) isSuspicious(c byte, text []byte, at, after int) bool {
	switch s.classes[c] {
	case foreign:
		return false
	case always:
		return true
	}
	return s.mayStand(c, text, at, after)
}

// mayStand reports whether a pattern may have c where an escape of it stands.
func (s *search) mayStand(c byte, text []byte, at, after int) bool {
	return s.mayPrecede(c, text, after) || s.ends[c] && s.mayFollow(c, text, at)
}

// mayPrecede reports whether a pattern may go on after c.
func (s *search) mayPrecede(c byte, text []byte, after int) bool {
	if len(text)-after < 2 {
		return true
	}
	a, b := text[after], text[after+1]
	switch {
	case a == '\\' && short[b] != 0 && s.classes[short[b]] == foreign:
		return isBase64(c) // a line end may follow
	case a == '\\' || a == '%' || isSpace(a) && isBase64(c):
		return true
	case b == '\\' || b == '%' || isSpace(b) && isBase64(c):
		return s.isPair(c, a)
	}
	return s.near.has(three(c, a, b))
}

// mayFollow reports whether a pattern may end at c or one byte after it.
func (s *search) mayFollow(c byte, text []byte, at int) bool {
	if at < run {
		return true
	}
	for _, b := range text[at-run : at] {
		if b == '\\' || b == '%' || isSpace(b) && isBase64(c) {
			return true
		}
	}
	return s.before.has(three(text[at-2], text[at-1], c))
}

func isBase64(c byte) bool { return c == '+' || c == '/' || c == '-' || c == '_' }

func isStop(c byte) bool { return c == '\\' || c == '%' || c <= ' ' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
