package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// probes reads what `mcp-jail doctor --format json` prints, and fails unless there are probes and
// each has passed.
func probes(in io.Reader, out io.Writer) error {
	var report any
	if err := json.NewDecoder(in).Decode(&report); err != nil {
		return fmt.Errorf("the report of doctor cannot be read: %w", err)
	}
	passed, failed := find(report, "passed"), find(report, "failed")
	if len(passed)+len(failed) == 0 {
		return errors.New("the report of doctor has no probes")
	}
	var bad []string
	for i, r := range append(failed, passed...) {
		row, _ := r.(map[string]any)
		word := func(key string) string { s, _ := row[key].(string); return s }
		fmt.Fprintf(out, "| %s | %s | %s |\n", word("id"), word("what"), word("got"))
		if i < len(failed) {
			bad = append(bad, word("id")+": "+word("got"))
		}
	}
	if bad != nil {
		return errors.New("probes that have not passed:\n" + strings.Join(bad, "\n"))
	}
	return nil
}

// find returns the list of a name, at any depth.
func find(value any, name string) []any {
	switch v := value.(type) {
	case map[string]any:
		if list, ok := v[name].([]any); ok {
			return list
		}
		for _, inner := range v {
			if list := find(inner, name); list != nil {
				return list
			}
		}
	case []any:
		for _, inner := range v {
			if list := find(inner, name); list != nil {
				return list
			}
		}
	}
	return nil
}

// skipped reads what `go test -json` prints. It fails for each test that failed or was skipped, and
// if none passed.
func skipped(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	passed, said := 0, map[string]string{}
	var bad []string
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			bad = append(bad, "not of go test: "+lines.Text())
			continue
		}
		name := event.Package + " " + event.Test
		switch event.Action {
		case "output", "build-output":
			said[name] += event.Output
		case "pass":
			if event.Test != "" {
				passed++
			}
		case "skip":
			if event.Test != "" { // a package without tests is skipped as a whole
				bad = append(bad, "skipped: "+name+"\n"+said[name])
			}
		case "fail", "build-fail":
			bad = append(bad, "failed: "+name+"\n"+said[name])
		}
	}
	fmt.Fprintf(out, "%d tests passed\n", passed)
	switch {
	case lines.Err() != nil:
		return lines.Err()
	case bad != nil:
		return errors.New(strings.Join(bad, "\n"))
	case passed == 0:
		return errors.New("no test has passed")
	}
	return nil
}
