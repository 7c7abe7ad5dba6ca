package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCompanionBuild tests that neither program goes on if the other one, of another build,
// has executed it, and that they do not execute each other for ever.
func TestCompanionBuild(t *testing.T) {
	for _, c := range []struct{ program, caller, args, says string }{
		{cmdline.Companion, "an older one", "preset", "are of two builds, \"an older one\" and "},
		{cmdline.Main, "an older one", "run -- true", "are of two builds"},
		{cmdline.Main, cmdline.Build(), "help", "mcp-jail-cli executes mcp-jail for run only"},
		{cmdline.Companion, cmdline.Build(), "--version", ""},
		{cmdline.Companion, cmdline.Build(), "run --help", ""},
	} {
		file, err := exec.LookPath(c.program)
		testkit.Must(t, err)
		cmd := exec.Command(file, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "MCP_JAIL_CALLER="+c.caller)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.says != "") || !strings.Contains(string(out), c.says) || strings.Count(string(out), "error:") > 1 {
			t.Errorf("%s %s, executed by %q: %v, %s", c.program, c.args, c.caller, err, out)
		}
	}
}

// TestCompanionBeside tests that mcp-jail executes mcp-jail-cli of its own directory only,
// also when it is called by a link, and says what is missing.
func TestCompanionBeside(t *testing.T) {
	self, err := os.Executable()
	testkit.Must(t, err)
	b, err := os.ReadFile(self)
	testkit.Must(t, err)
	dir := t.TempDir()
	linked, alone := filepath.Join(dir, "links", "mcp-jail"), filepath.Join(dir, "alone", "mcp-jail")
	for _, d := range []string{filepath.Dir(linked), filepath.Dir(alone)} {
		testkit.Must(t, os.MkdirAll(d, 0o755))
	}
	inPath, err := exec.LookPath(cmdline.Main)
	testkit.Must(t, err)
	// PATH has mcp-jail-cli, too.
	testkit.Must(t, os.Symlink(inPath, linked))
	testkit.Must(t, testkit.WriteProgram(alone, b))
	if out, err := exec.Command(linked, "help", "wrap").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "Usage: mcp-jail wrap") {
		t.Errorf("by a link: %v, %s", err, out)
	}
	t.Setenv("COLUMNS", "10000")
	for _, missing := range []bool{true, false} {
		says := "/mcp-jail-cli is missing: mcp-jail needs it for every command but run; install both from one build: "
		if !missing {
			says = "/mcp-jail-cli is not a program; install both from one build: "
			testkit.Must(t, os.Mkdir(filepath.Join(dir, "alone", cmdline.Companion), 0o755))
		}
		out, err := exec.Command(alone, "preset").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "error: "+filepath.Dir(alone)+says) {
			t.Errorf("it is missing (%v): %v, %s", missing, err, out)
		}
	}
	for _, args := range []string{"--version", "help", "__complete w"} {
		if out, err := exec.Command(alone, strings.Fields(args)...).Output(); err != nil || len(out) == 0 {
			t.Errorf("%s needs no mcp-jail-cli: %v, %s", args, err, out)
		}
	}
	if out, _ := exec.Command(alone, "run").CombinedOutput(); !strings.Contains(string(out), "name a configured server") {
		t.Errorf("run needs no mcp-jail-cli: %s", out)
	}
}
