package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Map is Lines for a map. The first column is the key.
func Map[T any](t testing.TB, name string) map[string]T {
	t.Helper()
	all := map[string]T{}
	for _, entry := range Lines[struct {
		key   string
		value T
	}](t, name) {
		all[entry.key] = entry.value
	}
	return all
}

// Lines reads the table of Rows into structs, a column for each field: a text, a number, a boolean, or a
// list or a map of texts with " | " between them. A struct in the last field has the columns that are left.
// A field that a row lacks is zero.
func Lines[T any](t testing.TB, name string) []T {
	t.Helper()
	return LinesIn[T](t, os.DirFS(here), name)
}

// LinesIn is Lines for a test that may run in another directory than its files.
func LinesIn[T any](t testing.TB, files fs.FS, name string) (table []T) {
	t.Helper()
	for _, row := range RowsIn(t, files, name, len(fieldsOf(reflect.ValueOf(new(T)).Elem()))) {
		var entry T
		for i, field := range fieldsOf(reflect.ValueOf(&entry).Elem()) {
			Must(t, setField(field, row[i]))
		}
		table = append(table, entry)
	}
	return table
}

func fieldsOf(entry reflect.Value) (fields []reflect.Value) {
	for i := range entry.NumField() {
		field := entry.Field(i)
		field = reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem() // it may be unexported
		if field.Kind() == reflect.Struct {
			return append(fields, fieldsOf(field)...)
		}
		fields = append(fields, field)
	}
	return fields
}

func setField(field reflect.Value, text string) error {
	if text == "" {
		return nil
	}
	switch field.Interface().(type) {
	case []byte:
		field.SetBytes([]byte(text))
		return nil
	case []string:
		field.Set(reflect.ValueOf(strings.Split(text, " | ")))
		return nil
	case map[string]string:
		all := map[string]string{}
		for pair := range strings.SplitSeq(text, " | ") {
			key, value, _ := strings.Cut(pair, "=")
			all[key] = value
		}
		field.Set(reflect.ValueOf(all))
		return nil
	}
	switch {
	case field.Kind() == reflect.String:
		field.SetString(text)
	case field.Kind() == reflect.Bool:
		value, err := strconv.ParseBool(text)
		field.SetBool(value)
		return err
	case field.CanInt():
		value, err := strconv.ParseInt(text, 0, 64)
		field.SetInt(value)
		return err
	case field.CanUint():
		value, err := strconv.ParseUint(text, 0, 64)
		field.SetUint(value)
		return err
	default:
		return fmt.Errorf("a field of type %v", field.Type())
	}
	return nil
}
