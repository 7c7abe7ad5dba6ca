package wsl

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// standIn is the variable that makes the test binary act as wsl.exe: it says what this Windows has.
const standIn = "MCPJAIL_TEST_WSL"

func TestMain(m *testing.M) {
	if has := os.Getenv(standIn); has != "" {
		os.Exit(wslMain(has, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// wslMain acts as wsl.exe does: it prints lists and errors in UTF-16 to the standard output, and runs what
// comes after --exec with the variables of WSLENV alone.
func wslMain(has string, args []string) int {
	say := func(text string) { os.Stdout.Write(utf16LE(text)) }
	switch list := strings.Join(args, " "); {
	case list == "--list --running --quiet" && has == "stopped", has == "none":
		say("There are no distributions.\r\n")
		return 255
	case list == "--list --running --quiet", list == "--list --quiet":
		say("Debian\r\nOld\r\n")
		return 0
	case list == "--list --verbose":
		say("  NAME      STATE           VERSION\r\n* Debian    Wird ausgeführt         2\r\n  Old       Stopped         1\r\n")
		return 0
	}
	if len(args) < 6 || !slices.Equal(args[:5], []string{"-d", "Debian", "--cd", "~", "--exec"}) {
		say("There is no distribution with the supplied name.\r\nError code: Wsl/Service/WSL_E_DISTRO_NOT_FOUND\r\n")
		return 255
	}
	cmd := exec.Command(args[5], args[6:]...)
	cmd.Dir = os.Getenv("LINUX_HOME")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("LINUX_PATH")}
	for item := range strings.SplitSeq(os.Getenv("WSLENV"), ":") {
		name, flags, _ := strings.Cut(item, "/")
		if value, set := os.LookupEnv(name); set && flags == "u" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Run()
	return cmd.ProcessState.ExitCode()
}

func utf16LE(text string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return b
}

// linux returns wsl.exe, and the home directory of the distribution Debian, whose mcp-jail is a script.
func linux(t *testing.T, script string) (p Program, home string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home = t.TempDir()
	t.Setenv(standIn, "all")
	t.Setenv("LINUX_HOME", home)
	t.Setenv("LINUX_PATH", "/usr/bin:/bin")
	if script != "" {
		put(t, filepath.Join(home, ".local/bin/mcp-jail"), script)
	}
	return Program{self}, home
}

func put(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// soon returns what a function returns, or fails the test when it hangs.
func soon[T any](t *testing.T, f func() T) T {
	t.Helper()
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case out := <-done:
		return out
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
	panic("unreachable")
}
