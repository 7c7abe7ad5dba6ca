package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLogFile tests which files openLog refuses because they lead to standard output.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	file, err := os.Create(filepath.Join(dir, "stdout"))
	must(t, err)
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(t, err)
	defer null.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for _, c := range []struct {
		name    string
		log     string
		out     *os.File
		err     *os.File
		refused bool
	}{
		{"the file of standard output", file.Name(), file, null, true},
		{"its name", "/dev/stdout", null, stderr, true},
		{"the name of its descriptor", "/dev/fd/1", null, stderr, true},
		{"a file of both streams", file.Name(), file, file, false},
		{"another file", other, file, null, false},
		{"a device", os.DevNull, null, stderr, false},
	} {
		os.Stdout, os.Stderr = c.out, c.err
		f, err := openLog(c.log)
		if err == nil {
			f.Close()
		}
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
