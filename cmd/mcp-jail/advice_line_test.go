//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAdviceWholeLine: the official filesystem server, told to serve a directory that is not
// granted, has its client answered with the cause and the flags, and the whole new line
// that `why` prints works: typed into a shell, and as the list of a client's file. A
// second directory of its arguments that it skips is told of too.
func TestAdviceWholeLine(t *testing.T) {
	need(t, "npm", "jail")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.home, map[string]string{"my notes/docs/a.txt": "in the docs"})
	docs := filepath.Join(w.home, "my notes", "docs")
	note := map[string]any{"path": filepath.Join(docs, "a.txt")}
	argv := []string{"node", server(filesystem), docs}

	s := start(t, w.jail(append([]string{"--name", "files", "--"}, argv...)...))
	m := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	for _, want := range []string{`"attribution":"likely"`, `~/my notes/docs`, `--write . --read ~/'my notes/docs'`} {
		if !strings.Contains(string(m.Error), want) {
			t.Errorf("the answer lacks %s: %s", want, m.Error)
		}
	}
	s.close()
	if got := s.stderr.String(); !strings.Contains(got, "warning: the server cannot reach what its arguments name") {
		t.Errorf("no warning at the start: %s", got)
	}
	if strings.Contains(string(m.Error), server(filesystem)) {
		t.Errorf("the arguments are told to the client: %s", m.Error)
	}

	var record struct{ Diagnoses []struct{ Line []string } }
	must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", "fil")), &record))
	line := record.Diagnoses[0].Line
	var typed, list []string
	for l := range strings.Lines(w.output(t, "why", "files")) {
		if args, ok := strings.CutPrefix(l, `"args": `); ok {
			must(t, json.Unmarshal([]byte(args), &list))
		}
		if l = strings.TrimSpace(l); strings.HasSuffix(l, shellWords(argv[2:])) && strings.Contains(l, " run ") {
			out, err := w.plain("/bin/sh", "-c", `printf '%s\n' `+l).Output()
			must(t, err)
			typed = strings.Split(strings.TrimSpace(string(out)), "\n")
		}
	}
	if !slices.Equal(list, line[1:]) {
		t.Errorf("the list is %q, the line %q", list, line)
	}
	for _, args := range [][]string{line[1:], typed[1:]} {
		s := open(t, w.mcpJail(args...), nil)
		if got := s.tool("read_text_file", note); got.IsError || !strings.Contains(got.texts(), "in the docs") {
			t.Errorf("%q: %s", args, got.texts())
		}
		if status := s.close(); status != 0 || strings.Contains(s.stderr.String(), "not granted") {
			t.Errorf("status %d, %s", status, &s.stderr)
		}
	}

	s = open(t, w.jail(append([]string{"--name", "two", "--"}, append(argv, w.work)...)...), nil)
	s.tools()
	eventually(t, "the complaint is told", func() bool { return strings.Contains(s.stderr.String(), "has started, and complains on stderr") })
	s.close()
	if got := w.output(t, "why", "two"); !strings.Contains(got, `"~/my notes/docs"`) || !strings.Contains(got, "flags to add: --write . --read ~/'my notes/docs'") {
		t.Errorf("why says %s", got)
	}
}

// TestAdviceExecute: a script of the workspace is started with the flag that is proposed.
func TestAdviceExecute(t *testing.T) {
	need(t, "jail", "python3")
	t.Parallel()
	for _, ordinary := range []bool{false, true} {
		if ordinary && (os.Getuid() != 0 || !testkit.All()) {
			continue
		}
		w := newWorld(t)
		w.plant(t, w.work, map[string]string{"build.sh": "#!/bin/sh\necho built\n"})
		must(t, exec.Command("chmod", "+x", filepath.Join(w.work, "build.sh")).Run())
		if ordinary {
			w.ordinary(t)
		}
		argv := []string{"--", "/usr/bin/python3", w.fixture(t, "exec.py")}
		run := map[string]any{"argv": []string{"./build.sh"}}
		s := open(t, w.jail(append([]string{"--name", "build"}, argv...)...), nil)
		got := s.tool("run", run)
		if !got.IsError || !strings.Contains(got.texts(), "--execute build.sh") || strings.Contains(got.texts(), "no flag") {
			t.Errorf("refused: %s", got.texts())
		}
		s.close()
		var record struct{ Diagnoses []struct{ Line []string } }
		must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", "build")), &record))
		if len(record.Diagnoses) == 0 || len(record.Diagnoses[0].Line) == 0 {
			t.Fatal(errors.New("no line"))
		}
		s = open(t, w.mcpJail(record.Diagnoses[0].Line[1:]...), nil)
		if got := s.tool("run", run); got.IsError || !strings.Contains(got.texts(), "built") {
			t.Errorf("%q: %s", record.Diagnoses[0].Line, got.texts())
		}
		s.close()
	}
}
