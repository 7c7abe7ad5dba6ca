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

// Table reads the rows of a file below testdata (see Rows). T has a column for each of its fields, those of a struct
// in the last field among them, or is one column itself. A text stands as it is. Anything else is JSON, or a list or map
// of texts with " | " between them, and its zero value for "". The pairs are texts of the file and what the test has in
// their place.
func Table[T any](t testing.TB, name string, pairs ...string) []T {
	t.Helper()
	return TableIn[T](t, os.DirFS(here), name, pairs...)
}

// TableIn is Table for a test that may run in another directory than its files.
func TableIn[T any](t testing.TB, files fs.FS, name string, pairs ...string) (all []T) {
	t.Helper()
	for _, row := range RowsIn(t, files, name, len(columns(reflect.ValueOf(new(T)).Elem()))) {
		all = append(all, fill[T](t, row, pairs))
	}
	return all
}

// Named reads a table whose first column has the names of the rows, each once.
func Named[T any](t testing.TB, name string, pairs ...string) map[string]T {
	t.Helper()
	all, given := map[string]T{}, strings.NewReplacer(pairs...)
	for _, row := range Rows(t, name, 1+len(columns(reflect.ValueOf(new(T)).Elem()))) {
		name := given.Replace(row[0])
		if _, twice := all[name]; twice {
			t.Fatalf("there are two rows %q", name)
		}
		all[name] = fill[T](t, row[1:], pairs)
	}
	return all
}

func columns(of reflect.Value) (all []reflect.Value) {
	if of.Kind() != reflect.Struct {
		return []reflect.Value{of}
	}
	for i := range of.NumField() {
		field := reflect.NewAt(of.Field(i).Type(), of.Field(i).Addr().UnsafePointer()).Elem() // settable, though it is not exported
		if i == of.NumField()-1 {
			return append(all, columns(field)...)
		}
		all = append(all, field)
	}
	return all
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
	for i, column := range columns(reflect.ValueOf(&one).Elem()) {
		Must(t, set(column, given.Replace(row[i]), strings.NewReplacer(quoted...).Replace(row[i])))
	}
	return one
}

func set(column reflect.Value, text, inJSON string) error {
	to, err := column.Addr().Interface(), error(nil)
	if text != "" && column.Kind() != reflect.String {
		if err = json.Unmarshal([]byte(inJSON), to); err != nil && strings.ContainsRune("[{", rune(text[0])) {
			return err
		}
	}
	switch to := to.(type) {
	case *[]byte:
		*to = []byte(text)
		return nil
	case *[]string:
		if err != nil {
			*to = strings.Split(text, " | ")
		}
		return nil
	case *map[string]string:
		if err != nil {
			*to = map[string]string{}
			for pair := range strings.SplitSeq(text, " | ") {
				key, value, _ := strings.Cut(pair, "=")
				(*to)[key] = value
			}
		}
		return nil
	}
	if column.Kind() == reflect.String {
		column.SetString(text)
	}
	return err
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
