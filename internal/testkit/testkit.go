// Package testkit holds what the tests of several packages need: waiting for a
// condition, golden files, skips that must be earned, and the test binary started
// again as another program. Only tests import it; house_test.go forbids it to the
// product.
//
// Two environment variables control the tests:
//
//   - MCPJAIL_REQUIRE lists features and programs ("landlock:6,userns,npm"). A test that
//     would be skipped because one of them is missing fails instead.
//   - MCPJAIL_LONG=1 makes the tests those of make test-long: more rounds, and what repeats a
//     test with another program, another user or another kind of jail.
//
// A test binary that imports testkit has the flag -update, which rewrites golden files.
package testkit

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Long reports whether the tests of make test-long run. They also rewrite golden files.
func Long() bool { return os.Getenv("MCPJAIL_LONG") == "1" || Update() }

// AtATime returns the option with which a test program runs as many tests at a time as this one.
func AtATime() string { return "-test.parallel=" + flag.Lookup("test.parallel").Value.String() }

// Rounds returns how often a test repeats something: elsewhere, and in make test-long.
func Rounds(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// NeedsLong skips a test that only make test-long runs.
func NeedsLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("make test-long runs it (MCPJAIL_LONG=1)")
	}
}

// Update reports whether the golden files are being rewritten.
func Update() bool { return *update }

// Golden compares got with a file below testdata. With -update it writes the file.
func Golden[T string | []byte](t testing.TB, name string, got T) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if Update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal([]byte(got), want) {
		t.Errorf("%s differs: look at it and run the test with -update\n%s", file, got)
	}
}

// Patience bounds every wait for something that must happen. It is generous: a test
// that reaches it has failed, and no test measures time by it.
const Patience = 5 * time.Minute

// Must ends the test if there is an error.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until a condition holds. The text says which.
func Eventually(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", Patience, condition)
		}
	}
}

// Skip skips a test that needs a feature or a program which this host does not have. If
// MCPJAIL_REQUIRE lists it, the test fails.
func Skip(t testing.TB, feature, format string, args ...any) {
	t.Helper()
	if Required(feature) {
		t.Fatalf("MCPJAIL_REQUIRE lists "+feature+": "+format, args...)
	}
	t.Skipf("needs "+feature+": "+format, args...)
}

// Required reports whether MCPJAIL_REQUIRE lists a feature, or a higher level of it:
// landlock:6 includes landlock:3 and landlock, and landlock:2 does not include landlock:3.
func Required(feature string) bool {
	for required := range strings.SplitSeq(os.Getenv("MCPJAIL_REQUIRE"), ",") {
		if covers(strings.TrimSpace(required), feature) {
			return true
		}
	}
	return false
}

func covers(required, feature string) bool {
	base, level, _ := strings.Cut(required, ":")
	wanted, least, levelled := strings.Cut(feature, ":")
	if base != wanted || base == "" {
		return false
	}
	have, _ := strconv.Atoi(level)
	want, _ := strconv.Atoi(least)
	return !levelled || have >= want
}

// Programs are the programs that a test binary can be beside its tests, by argv[0].
type Programs map[string]func()

// Dispatch runs the program that argv[0] names, and ends the process when the program
// returns. It returns if argv[0] names none. TestMain calls it first.
func (p Programs) Dispatch() {
	if program := p[filepath.Base(os.Args[0])]; program != nil {
		program()
		os.Exit(0)
	}
}

// Self returns a command that starts the test binary again under another argv[0].
func Self(name string, args ...string) *exec.Cmd {
	file := "/proc/self/exe" // valid even after the file was removed
	if runtime.GOOS != "linux" {
		file = os.Args[0]
	}
	return &exec.Cmd{Path: file, Args: append([]string{name}, args...)}
}
