package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
)

// TestRunInWSL: a Linux that serves has its messages passed, and one that does not is an answer to the
// client's first request. A script stands for wsl.exe.
func TestRunInWSL(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	for name, c := range map[string]struct {
		script, target string
		status         int
		out, errs      string
	}{
		"serves":        {`read -r line; echo '{"jsonrpc":"2.0","id":7,"result":{}}'; echo note >&2; exit 4`, "Debian", 4, `"result":{}`, "note"},
		"no mcp-jail":   {`[ "$1" = --list ] || exit 127`, "Debian", exit.Host, "the distribution Debian has no mcp-jail", "has no mcp-jail"},
		"does not list": {`case $2 in --quiet) echo Debian;; --verbose) echo "* Debian Stopped 2";; *) echo "Catastrophic failure"; exit 255;; esac`, "Debian", exit.Host, "cannot start mcp-jail in Debian: Catastrophic failure", "Catastrophic"},
		"WSL 1":         {`case $2 in --quiet) echo Debian;; --verbose) echo "* Debian Stopped 1";; *) exit 255;; esac`, "Debian", exit.Host, "under WSL 1, which has no Linux kernel", "WSL 1"},
		"no such name":  {"exit 0", "a b", exit.Usage, "--wsl", "--wsl"},
		"elsewhere":     {"", "Debian", exit.Host, "--wsl is for Windows", "--wsl is for Windows"},
		"another share": {"exit 0", "Debian", exit.Usage, "is a path that Linux does not have", "Linux"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stand := filepath.Join(dir, "wsl.exe")
			if err := os.WriteFile(stand, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			was := findWSL
			defer func() { findWSL = was }()
			if name != "elsewhere" { // there it is wsl.Find, which finds none on this system
				findWSL = func() (wsl.Program, error) { return wsl.Program{Path: stand}, nil }
			}
			in, client, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			client.WriteString(initialize)
			client.Close()
			file := func(name string) *os.File {
				f, err := os.Create(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				return f
			}
			out, errs := file("out"), file("err")
			word := "x"
			if name == "another share" {
				word = `\\host\share`
			}
			got := run([]string{"run", "--wsl", c.target, "--name", "s", "--", "server", word}, terminal.New(in, out, errs))
			said, _ := os.ReadFile(out.Name())
			told, _ := os.ReadFile(errs.Name())
			if got.Code != c.status || !strings.Contains(string(said), c.out) || !strings.Contains(string(said), `"id":7`) || !strings.Contains(string(told), c.errs) {
				t.Errorf("status %d, want %d\n%s\n%s", got.Code, c.status, said, told)
			}
		})
	}
}
