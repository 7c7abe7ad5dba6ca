package wrapcmd

import "github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"

// learningNotes returns a note about each server whose entry has --learn.
func learningNotes(servers []serverStatus) (notes []string) {
	for _, s := range servers {
		if s.Learning != nil {
			notes = append(notes, entries.LearningText(s.Name, s.Learning))
		}
	}
	return notes
}
