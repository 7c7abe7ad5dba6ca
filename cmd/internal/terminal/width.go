package terminal

// Bounds of the width of text, in characters.
const (
	minWidth   = 40
	plainWidth = 80  // of output that is not for a terminal
	maxWidth   = 100 // longer lines are hard to read
)

// Width returns how many characters a line of Out may have: the width of the terminal within
// bounds, and 80 if there is none.
func (c Console) Width() int {
	if n := columns(c.out); n > 0 {
		return max(minWidth, min(n, maxWidth))
	}
	return plainWidth
}
