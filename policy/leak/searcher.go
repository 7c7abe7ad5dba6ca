package leak

import (
	"cmp"
	"slices"
	"strings"
)

// Secret is a value that must not be shown, with a name that may be shown.
type Secret struct{ Name, Value string }

// Found is a secret in a text.
type Found struct {
	Name string
	Form Form
}

// Searcher looks for secrets. It may be used by several goroutines at once. A nil Searcher finds
// nothing.
type Searcher struct {
	automaton *automaton // of the ends of the texts
	texts     []pattern
	longest   int // of the texts
	tokens    bool
}

// pattern is a form of a secret, or of the beginning of a kind of token.
type pattern struct {
	written
	name  string
	kind  *kind  // nil: a secret
	begin string // of a kind: its beginning as it is
}

// tail is how many bytes of the end of a form the automaton has, so that it stays small. Where it finds
// them, the searcher compares the whole form, in a time that depends on the form's length. So a server
// that does not know these bytes learns nothing from the time.
const tail = 32

// New returns a searcher of secrets, and of well-known kinds of tokens if tokens is set. It returns
// nil if there is nothing to look for.
func New(secrets []Secret, tokens bool) *Searcher {
	s := &Searcher{tokens: tokens}
	for _, secret := range secrets {
		if secret.Value == "" {
			continue
		}
		for _, w := range formsOf(secret.Value) {
			s.texts = append(s.texts, pattern{written: w, name: secret.Name})
			s.longest = max(s.longest, len(w.text))
		}
	}
	if tokens {
		s.texts = append(s.texts, beginnings()...)
	}
	if s.texts == nil {
		return nil
	}
	ends := make([][]byte, len(s.texts))
	for i, p := range s.texts {
		ends[i] = []byte(p.text[max(0, len(p.text)-tail):])
	}
	s.automaton = newAutomaton(ends)
	return s
}

// each calls found for each secret and token in a text that ends behind place from.
func (s *Searcher) each(text []byte, from int, found func(p *pattern, begin, end int)) {
	first := max(0, from-tail+1)
	tokens := tokenSearch{}
	s.automaton.each(text[first:], func(i, end int) {
		p, end := &s.texts[i], first+end
		begin := end - len(p.text)
		switch {
		case end <= from || begin < 0:
		case p.kind != nil:
			if tokens.find(p, text, begin, end) {
				found(p, begin, end)
			}
		case isSame(text[begin:end], p.text):
			found(p, begin, end)
		}
	})
}

// isSame compares two texts of one length, and looks at each byte of them.
func isSame(a []byte, b string) bool {
	different := byte(0)
	for i := range a {
		different |= a[i] ^ b[i]
	}
	return different == 0
}

// Find returns the secrets in a text, each once, in the form that was found first.
func (s *Searcher) Find(text []byte) []Found { return s.find(text, 0) }

func (s *Searcher) find(text []byte, from int) (all []Found) {
	if s == nil {
		return nil
	}
	s.each(text, from, func(p *pattern, _, _ int) {
		if !slices.ContainsFunc(all, func(o Found) bool { return o.Name == p.name }) {
			form := p.form
			if p.kind != nil {
				form = Token
			}
			all = append(all, Found{p.name, form})
		}
	})
	return all
}

// Stream looks for secrets in a text that comes in pieces.
type Stream struct {
	searcher *Searcher
	kept     []byte // the end of the text
	seen     []string
}

// Stream returns a stream. The stream of a nil Searcher finds nothing.
func (s *Searcher) Stream() *Stream { return &Stream{searcher: s} }

// Find looks at the next piece, and returns the secrets that it completes and that were not
// returned before.
func (s *Stream) Find(piece []byte) (all []Found) {
	if s.searcher == nil {
		return nil
	}
	from, keep := len(s.kept), s.searcher.longest-1
	if s.searcher.tokens { // which are looked for from their beginning on
		from, keep = 0, max(keep, tokenReach)
	}
	text := append(s.kept, piece...)
	for _, found := range s.searcher.find(text, from) {
		if !slices.Contains(s.seen, found.Name) {
			s.seen = append(s.seen, found.Name)
			all = append(all, found)
		}
	}
	s.kept = append(s.kept[:0], text[len(text)-min(len(text), keep):]...)
	return all
}

// Replace returns a text with by's text in place of each secret. Secrets that overlap are replaced
// as one, by the name of the first.
func (s *Searcher) Replace(text string, by func(name string, length int) string) string {
	if s == nil {
		return text
	}
	type place struct {
		begin, end int
		name       string
	}
	var places []place
	s.each([]byte(text), 0, func(p *pattern, begin, end int) { places = append(places, place{begin, end, p.name}) })
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.begin-b.begin, b.end-a.end) })
	var out strings.Builder
	done := 0
	for i := 0; i < len(places); {
		p := places[i]
		for i++; i < len(places) && places[i].begin < p.end; i++ {
			p.end = max(p.end, places[i].end)
		}
		out.WriteString(text[done:p.begin] + by(p.name, p.end-p.begin))
		done = p.end
	}
	return out.String() + text[done:]
}

// Begun returns how many bytes at the end of a text begin a form of a secret, and its name.
func (s *Searcher) Begun(text string) (name string, length int) {
	if s == nil {
		return "", 0
	}
	for _, p := range s.texts {
		for n := min(len(p.text)-1, len(text)); n > length; n-- {
			if strings.HasSuffix(text, p.text[:n]) {
				name, length = p.name, n
			}
		}
	}
	return name, length
}
