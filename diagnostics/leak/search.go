package leak

// search finds many patterns at once, after Wu and Manber.
type search struct {
	least    int       // the length of the shortest pattern
	longest  int       // of the longest
	shift    []uint8   // how far the window may go on, by the hash of its last three bytes
	at       [][]int32 // patterns whose first least bytes end with a block of that hash
	patterns []pattern
}

// A pattern is one form of a secret.
type pattern struct {
	text   string
	secret int // index in Finder.names
	form   Form
}

// block is how many bytes a step looks at, and hashBits how many bits their hash has.
const (
	block    = 3
	hashBits = 15
)

func hash(a, b, c byte) uint32 {
	return (uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 2654435761 >> (32 - hashBits)
}

// newSearch returns a search for patterns of at least block bytes.
func newSearch(patterns []pattern) *search {
	if len(patterns) == 0 {
		return nil
	}
	s := &search{least: len(patterns[0].text), patterns: patterns, shift: make([]uint8, 1<<hashBits), at: make([][]int32, 1<<hashBits)}
	for _, p := range patterns {
		s.least, s.longest = min(s.least, len(p.text)), max(s.longest, len(p.text))
	}
	s.least = min(s.least, 200) // a shift is one byte
	for i := range s.shift {
		s.shift[i] = uint8(s.least - block + 1)
	}
	for i, p := range patterns {
		for end := block; end <= s.least; end++ {
			h := hash(p.text[end-3], p.text[end-2], p.text[end-1])
			s.shift[h] = min(s.shift[h], uint8(s.least-end))
			if end == s.least {
				s.at[h] = append(s.at[h], int32(i))
			}
		}
	}
	return s
}

// find calls found for each pattern in text, until found returns false.
func (s *search) find(text []byte, found func(p *pattern, at int) bool) {
	for i := s.least; i <= len(text); {
		h := hash(text[i-3], text[i-2], text[i-1])
		if n := s.shift[h]; n > 0 {
			i += int(n)
			continue
		}
		begin := i - s.least
		for _, k := range s.at[h] {
			p := &s.patterns[k]
			if rest := text[begin:]; len(rest) >= len(p.text) && string(rest[:len(p.text)]) == p.text && !found(p, begin) {
				return
			}
		}
		i++
	}
}
