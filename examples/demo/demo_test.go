package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMain makes this test binary a proxy in place of mcp-jail. It confines nothing, so the demonstration must report
// surprises.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "run":
		os.Exit(fake(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "wrap":
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fake does what `mcp-jail run --config FILE… SERVER` does, without a jail, for the files of the demonstration.
func fake(arguments []string) int {
	server := arguments[len(arguments)-1]
	text, err := os.ReadFile(arguments[1])
	if err != nil {
		return 2
	}
	_, table, _ := strings.Cut(string(text), "[servers."+server+"]\n")
	table, _, _ = strings.Cut(table, "\n\n")
	value := func(key string) string {
		for line := range strings.Lines(table) {
			if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == key {
				return strings.Trim(strings.TrimSpace(value), `[]'"`)
			}
		}
		return ""
	}
	command := exec.Command(value("command"))
	if argument := value("arguments"); argument != "" {
		command.Args = append(command.Args, argument)
	}
	command.Dir, command.Stdin, command.Stdout, command.Stderr = value("workspace"), os.Stdin, os.Stdout, os.Stderr
	if command.Run() != nil {
		return 1
	}
	return 0
}

// rehearsal returns options that use the fake, write the output to a file and put the site into a temporary directory.
func rehearsal(t *testing.T) (c options, site string) {
	t.Helper()
	self, err := os.Executable()
	testkit.Must(t, err)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	testkit.Must(t, err)
	t.Cleanup(func() { out.Close() })
	// The path is short because the name of a socket has a limited length.
	site, err = os.MkdirTemp("", "demo-test-")
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(site) })
	built, err := programs{jail: self}.build(t.Context(), t.TempDir())
	testkit.Must(t, err)
	t.Setenv("TMPDIR", site)
	t.Setenv("TMP", site)
	return options{programs: built, out: out}, site
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.Must(t, err)
	for _, e := range entries {
		t.Errorf("left behind: %s", e.Name())
	}
}

func TestReportsAMissingJail(t *testing.T) {
	c, site := rehearsal(t)
	err := run(t.Context(), c)
	isEmpty(t, site)
	if err == nil {
		t.Fatal("a proxy that confines nothing passed")
	}
	for _, want := range []string{"read shared: ", "write plan: the jail offered no command", "write garden: replaced garden", "search nobody: private/diary.md:2: Nobody", "read ~/.ssh/id_ed25519 in the jail: got", "connect to a local service in the jail: got"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	text, err := os.ReadFile(c.out.Name())
	testkit.Must(t, err)
	for _, want := range []string{"✓ search beans     garden.md:2: Sow the beans", "without", "write into the project folder    fine           fine"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if bytes.Contains(text, []byte(site)) || bytes.Contains(text, []byte("\x1b")) {
		t.Errorf("paths of this run or colours in:\n%s", text)
	}
}

// TestEnvironment: no variable leads a program of the demonstration to a file of the user's.
func TestEnvironment(t *testing.T) {
	t.Setenv("CODEX_HOME", "/elsewhere")
	s := &site{dir: t.TempDir()}
	for _, pair := range s.environment() {
		if strings.Contains(pair, "elsewhere") {
			t.Error(pair)
		}
	}
}

func TestStopsAndCleansUp(t *testing.T) {
	c, site := rehearsal(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx, c) }()
	select {
	case err := <-stopped:
		if err == nil {
			t.Error("stopped without an error")
		}
	case <-time.After(testkit.Patience): // less than the time limit of run itself
		t.Fatal("it does not stop")
	}
	isEmpty(t, site)
}

func TestGrant(t *testing.T) {
	said := "\n  The jail blocked notes from creating notes/plan.md.\nThey run this:\n  mcp-jail grant notes --last\n"
	if got := grant(said); got != "mcp-jail grant notes --last" {
		t.Errorf("got %q", got)
	}
	if got := withoutGrant(said); got != "The jail blocked notes from creating notes/plan.md." {
		t.Errorf("got %q", got)
	}
	if got := grant("nothing to grant"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"failed: EACCES: open x: permission denied":                  "blocked  EACCES",
		"failed: nothing to steal: X is not set":                     "not set",
		"failed: ENOENT: open a: no such file\nopen b: no such file": "blocked  ENOENT",
		"the server ended": "the server ended",
	} {
		if got := reason(answer{text: text}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
