package leak

import (
	"bytes"
	"cmp"
	"errors"
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

// automaton finds many patterns in one pass (Aho and Corasick). Its table has an entry for each
// state and each class of bytes. So each byte of a text takes one step.
type automaton struct {
	class [256]uint16 // 0: bytes that no pattern has
	// next has the state after a state and a class of bytes, at the sum of both: a state is the place
	// of its row in next.
	next []uint32
	ends map[uint32][]int // the patterns that a text ends with in a state
}

// ending marks the states in ends, where next has them.
const ending = 1 << 31

func newAutomaton(patterns [][]byte) *automaton {
	a := &automaton{ends: map[uint32][]int{}}
	classes := uint16(1)
	for _, p := range patterns {
		for _, c := range p {
			if a.class[c] == 0 {
				a.class[c] = classes
				classes++
			}
		}
	}
	size := int(classes)
	for _, p := range patterns {
		size += len(p) * int(classes)
	}
	a.next = make([]uint32, classes, size)
	for i, p := range patterns {
		state := uint32(0)
		for _, c := range p {
			at := state + uint32(a.class[c])
			if a.next[at] == 0 {
				a.next[at] = uint32(len(a.next))
				a.next = a.next[:len(a.next)+int(classes)]
			}
			state = a.next[at]
		}
		a.ends[state] = append(a.ends[state], i)
	}
	a.complete(uint32(classes))
	return a
}

// complete fills the entries behind which no pattern goes on, and marks those of states in ends. It
// begins with the shortest beginnings of patterns: where no pattern goes on, what follows the next
// shorter one that a state ends with is known then.
func (a *automaton) complete(classes uint32) {
	shorter := make([]uint32, len(a.next)/int(classes)) // by state
	for queue := []uint32{0}; len(queue) > 0; queue = queue[1:] {
		state := queue[0]
		for c := range classes {
			after := uint32(0)
			if state != 0 {
				after = a.next[shorter[state/classes]+c]
			}
			to := a.next[state+c]
			if to == 0 {
				a.next[state+c] = after
				continue
			}
			queue = append(queue, to)
			shorter[to/classes] = after &^ ending
			if after&ending != 0 {
				a.ends[to] = append(a.ends[to], a.ends[after&^ending]...)
			}
			if a.ends[to] != nil {
				a.next[state+c] = to | ending
			}
		}
	}
}

// each calls found for each pattern in a text, with the place behind it.
func (a *automaton) each(text []byte, found func(pattern, end int)) {
	state := uint32(0)
	for i, c := range text {
		state = a.next[state+uint32(a.class[c])]
		if state&ending != 0 {
			state &^= ending
			for _, p := range a.ends[state] {
				found(p, i+1)
			}
		}
	}
}

// Mask hides values that the receiver of a text must not get. Each byte of a value becomes a "*", so
// the text keeps its length. A nil Mask changes nothing. A Mask may be used by several goroutines at
// once.
//
// The receiver may have written the text. It sees that a whole value was replaced, so values that
// can be guessed are not replaced: see isGuessable.
type Mask struct{ searcher *Searcher }

// isGuessable reports whether a value could be found by trying: it has fewer than 16 bytes, fewer
// than 8 different ones, or a single kind (small letters, capitals, digits, others).
func isGuessable(value string) bool {
	different, kinds := variety(value)
	return len(value) < 16 || different < 8 || kinds < 2
}

// NewMask returns a Mask of the values that cannot be guessed, or nil if there are none. The values
// have no line ends.
func NewMask(values []string) *Mask {
	var secrets []Secret
	for _, value := range values {
		if !isGuessable(value) {
			secrets = append(secrets, Secret{Value: value})
		}
	}
	if secrets == nil {
		return nil
	}
	return &Mask{New(secrets, false)}
}

// Hide returns a text without the values.
func (m *Mask) Hide(text string) string {
	if m == nil {
		return text
	}
	return m.searcher.Replace(text, func(_ string, length int) string { return strings.Repeat("*", length) })
}

// errSplit means that a value has come in several pieces, of which some were passed on.
var errSplit = errors.New("a secret came in several pieces")

// MaskStream hides values in a text that comes in pieces.
type MaskStream struct {
	searcher *Searcher
	live     bool
	// The end of the text, as it came: enough to hold all but the last byte of the longest form, and
	// unless the stream is live, all after the last line end.
	text  []byte
	shown []byte // the same without values, if it is not passed on yet
}

// Stream returns a stream. If it is live, each piece is passed on at once, and a value in several
// pieces is an error. Otherwise the end of the text is kept back until the next piece, unless it is a
// line end. How much is kept back depends on nothing else.
func (m *Mask) Stream(live bool) *MaskStream { return &MaskStream{searcher: m.searcher, live: live} }

// Next appends to out what may be passed on after the next piece.
func (s *MaskStream) Next(out, piece []byte) ([]byte, error) {
	from := len(s.text)
	s.text, s.shown = append(s.text, piece...), append(s.shown, piece...)
	passed := len(s.text) - len(s.shown)
	split := false
	s.searcher.each(s.text, from, func(_ *pattern, begin, end int) {
		split = split || begin < passed // its beginning is out, and cannot be hidden any more
		for at := max(begin, passed); at < end; at++ {
			s.shown[at-passed] = '*'
		}
	})
	if split {
		return out, errSplit
	}
	drop := max(0, len(s.text)-s.searcher.longest+1) // no form that ends later begins before it
	if s.live {
		out, s.shown = append(out, s.shown...), s.shown[:0]
	} else {
		// A form has no line end in it: see NewMask. So a whole line is decided.
		drop = max(drop, 1+bytes.LastIndexAny(s.text, "\r\n"))
		out, s.shown = append(out, s.shown[:drop]...), append(s.shown[:0], s.shown[drop:]...)
	}
	s.text = append(s.text[:0], s.text[drop:]...)
	return out, nil
}

// Rest returns what was kept back, at the end of the text.
func (s *MaskStream) Rest() []byte { return s.shown }
