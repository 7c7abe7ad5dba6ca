//go:build unix

package wrapcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
)

// TestChooseLinux: wrap --wsl has a sentence for each thing that keeps servers from running in a Linux, and
// for one that has to be started first. A script takes the part of wsl.exe.
func TestChooseLinux(t *testing.T) {
	const (
		lists   = `case "$*" in "--list --quiet") echo Debian;; "--list --verbose") echo "* Debian Stopped 2";; `
		running = `"--list --running --quiet") echo Debian;; `
		drive   = `*wslpath*) echo /mnt/c/;; `
		version = `*) echo mcp-jail 1.2.3;; esac`
		lacks   = `*) exit 127;; esac`
	)
	for name, c := range map[string]struct{ script, wanted, says, told string }{
		"running":         {lists + running + drive + version, defaultLinux, "", "will run in Debian, a Linux of WSL 2, in jails of its mcp-jail (1.2.3)"},
		"stopped":         {lists + `"--list --running --quiet") exit 255;; ` + drive + version, "debian", "", "Debian is stopped: starting it, which takes some seconds"},
		"none":            {"exit 255", defaultLinux, "WSL has no Linux distribution: install one", ""},
		"no such one":     {lists + running + drive + version, "Ubuntu", `WSL has no distribution "Ubuntu": choose Debian`, ""},
		"WSL 1":           {strings.Replace(lists, "Stopped 2", "Stopped 1", 1) + running + drive + version, defaultLinux, "Debian runs under WSL 1", ""},
		"no mcp-jail":     {lists + running + drive + lacks, defaultLinux, "the distribution Debian has no mcp-jail: install it there (docs/wsl.md has the steps). `wsl -d Debian --cd ~` opens a shell in it", ""},
		"no drives":       {lists + running + `*wslpath*) exit 1;; ` + version, defaultLinux, "wsl.exe cannot start Debian", ""},
		"does not start":  {lists + running + `*) echo "Catastrophic failure"; exit 255;; esac`, defaultLinux, "wsl.exe cannot start Debian: Catastrophic failure", ""},
		"without wsl.exe": {"", defaultLinux, "--wsl is for Windows", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			was := findWSL
			defer func() { findWSL = was }()
			if stand := filepath.Join(dir, "wsl.exe"); c.script != "" {
				if err := os.WriteFile(stand, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				findWSL = func() (wsl.Program, error) { return wsl.Program{Path: stand}, nil }
			}
			said, err := os.Create(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			target, err := chooseLinux(terminal.New(nil, said, said), c.wanted)
			told, _ := os.ReadFile(said.Name())
			if c.says == "" && (err != nil || target != wsl.Target{Name: "Debian", Root: "/mnt"}) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%+v, %v", target, err)
			}
			text := strings.Join(strings.Fields(string(told)), " ")
			if !strings.Contains(text, c.told) || strings.Contains(text, "is stopped") != (name == "stopped") {
				t.Errorf("it says %q", text)
			}
		})
	}
}
