package testkit

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// Rows reads a table below testdata: each line is a row of words, and of strings as Go quotes them. What
// follows a "#" is a comment. A row has at most as many fields as there are columns; those that it lacks
// are "".
func Rows(t testing.TB, name string, columns int) [][]string {
	t.Helper()
	return RowsIn(t, os.DirFS("."), name, columns)
}

// RowsIn is Rows for a test that may run in another directory than its files.
func RowsIn(t testing.TB, files fs.FS, name string, columns int) (rows [][]string) {
	t.Helper()
	text, err := fs.ReadFile(files, path.Join("testdata", name))
	Must(t, err)
	for line := range strings.Lines(string(text)) {
		row := make([]string, 0, columns)
		for rest := strings.TrimSpace(line); rest != "" && rest[0] != '#'; rest = strings.TrimSpace(rest) {
			field, _, _ := strings.Cut(rest, " ")
			value := field
			if strings.ContainsAny(rest[:1], "\"`") {
				if field, err = strconv.QuotedPrefix(rest); err == nil {
					value, err = strconv.Unquote(field)
				}
				Must(t, err)
			}
			row = append(row, value)
			rest = rest[len(field):]
		}
		if len(row) > columns {
			t.Fatalf("%s: a row of %d fields: %s", name, len(row), line)
		}
		if len(row) > 0 {
			rows = append(rows, row[:columns])
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return rows
}
