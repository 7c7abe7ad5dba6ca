package terminal

// Bounds of the width of text, in characters.
const (
	minWidth   = 40
	plainWidth = 80 // of help in a pipe
)

// Width returns how many characters a line of help may have: as TextColumns, but 80 if Out is no
// terminal.
func (c Console) Width() int {
	if columns(c.out) == 0 && givenColumns() == 0 {
		return plainWidth
	}
	return c.TextColumns()
}
