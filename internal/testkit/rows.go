package testkit

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// here is the directory of the package: a test may be in another one when it reads a table.
var here, _ = os.Getwd()

// Rows reads a table below testdata: each line is a row of words, and of strings as Go quotes them. What
// follows a "#" is a comment. A row has at most as many fields as there are columns; those that it lacks
// are "".
func Rows(t testing.TB, name string, columns int) [][]string {
	t.Helper()
	return RowsIn(t, os.DirFS(here), name, columns)
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

// Table reads the rows of a file below testdata (see Rows). A field of T, or T itself, is a field of the row: a
// text as it stands, anything else in JSON, and its zero value for "". The pairs are texts of the file and what the
// test has in their place.
func Table[T any](t testing.TB, name string, pairs ...string) (all []T) {
	t.Helper()
	for _, row := range Rows(t, name, columns[T]()) {
		all = append(all, fill[T](t, row, pairs))
	}
	return all
}

// Named reads a table whose first column has the names of the rows, each once.
func Named[T any](t testing.TB, name string, pairs ...string) map[string]T {
	t.Helper()
	all, given := map[string]T{}, strings.NewReplacer(pairs...)
	for _, row := range Rows(t, name, 1+columns[T]()) {
		name := given.Replace(row[0])
		if _, twice := all[name]; twice {
			t.Fatalf("there are two rows %q", name)
		}
		all[name] = fill[T](t, row[1:], pairs)
	}
	return all
}

func columns[T any]() int {
	if of := reflect.TypeFor[T](); of.Kind() == reflect.Struct {
		return of.NumField()
	}
	return 1
}

func fill[T any](t testing.TB, row, pairs []string) (one T) {
	t.Helper()
	given, quoted := strings.NewReplacer(pairs...), slices.Clone(pairs)
	for i, text := range pairs {
		inJSON, err := json.Marshal(text)
		Must(t, err)
		if i%2 == 1 {
			quoted[i] = string(inJSON[1 : len(inJSON)-1])
		}
	}
	v := reflect.ValueOf(&one).Elem()
	for i, text := range row {
		field := v
		if v.Kind() == reflect.Struct {
			field = reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem() // settable, though it is not exported
		}
		switch {
		case field.Kind() == reflect.String:
			field.SetString(given.Replace(text))
		case text != "":
			Must(t, json.Unmarshal([]byte(strings.NewReplacer(quoted...).Replace(text)), field.Addr().Interface()))
		}
	}
	return one
}

// Archive returns the texts of an archive below testdata, by their names. Before each of them is a line "-- NAME --".
func Archive(t testing.TB, name string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(here, "testdata", name))
	Must(t, err)
	texts := map[string]string{}
	for _, f := range archive.Files {
		texts[f.Name] = string(f.Data)
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no texts", name)
	}
	return texts
}

// Cases returns the texts of an archive by case and name: before each of them is a line "-- CASE: NAME --".
func Cases(t testing.TB, name string) map[string]map[string]string {
	t.Helper()
	cases := map[string]map[string]string{}
	for section, text := range Archive(t, name) {
		of, file, _ := strings.Cut(section, ": ")
		if cases[of] == nil {
			cases[of] = map[string]string{}
		}
		cases[of][file] = text
	}
	return cases
}
