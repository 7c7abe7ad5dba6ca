package testkit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Get returns the value of a call that also returns an error. The function that it returns ends the
// test if there is one: Get(os.ReadFile(name))(t).
func Get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper() // only now: it reads the stack, and some tests come here a million times
			t.Fatal(err)
		}
		return value
	}
}

// ErrorOf returns the error of a call that also returns a value.
func ErrorOf[T any](_ T, err error) error { return err }

// Equal fails the test if two values differ. What says what they are. An empty slice or map and none
// at all are equal.
func Equal[T any](t testing.TB, what any, got, want T) {
	if same(reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()) {
		return
	}
	t.Helper()
	show := func(value any) string {
		switch value.(type) {
		case string, []byte:
			return fmt.Sprintf("%q", value)
		}
		return fmt.Sprintf("%+v", value)
	}
	t.Errorf("%s%s, want %s", of(what), show(got), show(want))
}

func same(got, want reflect.Value) bool {
	if kind := got.Kind(); (kind == reflect.Slice || kind == reflect.Map) && got.Len() == 0 && want.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(got.Interface(), want.Interface())
}

// Fails fails the test unless there is an error that says text, which may be "".
func Fails(t testing.TB, what any, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%serror %v, want one with %q", of(what), err, text)
	}
}

func of(what any) string {
	if what == "" {
		return ""
	}
	return fmt.Sprint(what, ": ")
}

// Works fails the test if there is an error.
func Works(t testing.TB, what any, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", of(what), err)
	}
}

// Is fails the test unless an error is, or wraps, another.
func Is(t testing.TB, what any, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%serror %v, want %v", of(what), err, target)
	}
}

// Contains fails the test unless a text has a part.
func Contains(t testing.TB, what any, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s%q, want %q in it", of(what), text, part)
	}
}

// MustEqual is Equal, and ends the test.
func MustEqual[T any](t testing.TB, what any, got, want T) {
	t.Helper()
	if Equal(t, what, got, want); !same(reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()) {
		t.FailNow()
	}
}

// Empty fails the test if a list has something.
func Empty[T any](t testing.TB, what any, list []T) {
	t.Helper()
	if len(list) > 0 {
		t.Errorf("%s%+v", of(what), list)
	}
}
