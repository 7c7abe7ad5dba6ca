package leak

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Secret is a value that must not be shown, with the name that may be.
type Secret struct{ Name, Value string }

// Form is how a secret was written.
type Form string

// Forms.
const (
	Plain  Form = "as it is"
	Base64 Form = "in base64"
	Hex    Form = "in hexadecimal digits"
)

// Shortest is the length of the shortest secret that is looked for. Shorter ones occur by chance.
const Shortest = 6

// Depth is how many layers of escapes are taken off.
const Depth = 3

// Found is a secret in a text.
type Found struct {
	Name string
	Form Form
}

// Finder looks for secrets. It may be used by several goroutines at once. A nil Finder finds nothing.
type Finder struct {
	names   []string
	plain   *search // all forms
	digits  *search // forms in which white space may stand
	longest int
}

// New returns a finder, or nil if there is nothing to look for.
func New(secrets []Secret) *Finder {
	f := &Finder{}
	var all, digits []pattern
	for _, s := range secrets {
		if len(s.Value) < Shortest {
			continue
		}
		n := len(f.names)
		f.names = append(f.names, s.Name)
		add := func(text string, form Form) {
			p := pattern{text, n, form}
			if len(text) < Shortest || slices.Contains(all, p) {
				return
			}
			all = append(all, p)
			if form != Plain {
				digits = append(digits, p)
			}
		}
		add(s.Value, Plain)
		lower := hex.EncodeToString([]byte(s.Value))
		add(lower, Hex)
		add(strings.ToUpper(lower), Hex)
		for phase := range 3 {
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				add(within(encoding, s.Value, phase), Base64)
			}
		}
	}
	if all == nil {
		return nil
	}
	f.plain, f.digits = newSearch(all), newSearch(digits)
	f.longest = f.plain.longest
	return f
}

// within returns the digits that a value has in base64 whatever stands around it, if it begins
// that many bytes after the beginning of a group of three.
func within(encoding *base64.Encoding, value string, phase int) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", phase) + value))
	first := (phase*8 + 5) / 6 // the digits before have bits of what stands before
	last := (phase + len(value)) * 8 / 6
	return text[first:last]
}

// Find returns the secrets in a text, each once, in the form that was found first.
func (f *Finder) Find(text []byte) (all []Found) {
	if f == nil {
		return nil
	}
	add := func(p *pattern, _ int) bool {
		if name := f.names[p.secret]; !slices.ContainsFunc(all, func(o Found) bool { return o.Name == name }) {
			all = append(all, Found{name, p.form})
		}
		return len(all) < len(f.names)
	}
	for layer := 0; ; layer++ {
		f.plain.find(text, add)
		if layer == Depth {
			break
		}
		plain, changed := unescape(text)
		if !changed {
			break
		}
		text = plain
	}
	if joined, changed := join(text); changed {
		f.digits.find(joined, add)
	}
	return all
}

// Stream looks for secrets in a text that comes in pieces.
type Stream struct {
	finder *Finder
	kept   []byte
	seen   []string
}

// Stream returns a stream; that of a nil Finder finds nothing.
func (f *Finder) Stream() *Stream { return &Stream{finder: f} }

// expansion is how many bytes one byte of a form takes at most in a stream: an escape of JSON has
// six, and a line end may follow.
const expansion = 8

// Write looks at the next piece, and returns the secrets that it completes and that were not
// returned before.
func (s *Stream) Write(piece []byte) (all []Found) {
	if s.finder == nil {
		return nil
	}
	text := append(s.kept, piece...)
	for _, found := range s.finder.Find(text) {
		if !slices.Contains(s.seen, found.Name) {
			s.seen = append(s.seen, found.Name)
			all = append(all, found)
		}
	}
	keep := min(len(text), s.finder.longest*expansion)
	s.kept = append(s.kept[:0], text[len(text)-keep:]...)
	return all
}
