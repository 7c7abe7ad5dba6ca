package leak

import "slices"

// Stream looks for secrets in a text that comes in pieces.
type Stream struct {
	finder *Finder
	kept   []byte
	seen   []string
}

// Stream returns a stream. The stream of a nil Finder finds nothing.
func (f *Finder) Stream() *Stream { return &Stream{finder: f} }

// expansion is how many bytes a stream keeps for one byte of a form. The six bytes of \u0041 take
// eighteen if each of them is written as %XX. Across pieces, a stream may miss a secret with longer
// escapes.
const expansion = 18

// Find looks at the next piece, and returns the secrets that it completes and that were not
// returned before.
func (s *Stream) Find(piece []byte) (all []Found) {
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
