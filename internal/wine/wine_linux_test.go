package wine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// loader is the program that starts programs of Windows. Debian has it in no directory of PATH.
func loader() string {
	if found, err := exec.LookPath("wine64"); err == nil {
		return found
	}
	return "/usr/lib/wine/wine64"
}

// prefix makes a Windows 10 in a directory. It returns a function that runs a program there to its end, with
// the messages of a client.
func prefix(t *testing.T, dir string) func(messages string, words ...string) (out, errs string, status int) {
	variables := []string{
		"WINEPREFIX=" + filepath.Join(dir, "prefix"), "WINEDEBUG=-all", "HOME=" + dir, "TMPDIR=" + dir, "PATH=/usr/bin:/bin", "USER=tester", "LC_ALL=C.UTF-8",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=", // no dialog about them, and no entries in menus
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*testkit.Patience)
	t.Cleanup(func() {
		cancel()
		server := exec.Command(filepath.Join(filepath.Dir(loader()), "wineserver"), "-k")
		server.Env = variables
		server.Run() // it fails if there is none
	})
	run := func(messages string, words ...string) (string, string, int) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(ctx, loader(), words...)
		cmd.Dir, cmd.Env = dir, variables
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(messages), &out, &errs
		cmd.WaitDelay = testkit.Patience / 10 // a process of Wine's own can hold the streams
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Run(); cmd.ProcessState == nil || ctx.Err() != nil {
			t.Fatalf("%q: %v\n%s\n%s", words, err, out.String(), errs.String())
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	for _, words := range [][]string{{"wineboot", "-i"}, {"reg", "add", `HKCU\Software\Wine`, "/v", "Version", "/d", "win10", "/f"}} {
		if out, errs, status := run("", words...); status != 0 {
			t.Fatal(words, status, out, errs)
		}
	}
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "prefix/drive_c/windows/system32/bcryptprimitives.dll"), randomLibrary(), 0o644))
	return run
}

// TestRelay: a server starts in its job only where the gaps of Windows are accepted. Then its arguments are
// those that were given, and its answers reach the client. The first line says what is not held.
func TestRelay(t *testing.T) {
	testkit.NeedsLong(t)
	if _, err := os.Stat(loader()); err != nil {
		testkit.Skip(t, "wine", "Debian's package is wine64: %v", err)
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "./cmd/mcp-jail", "./cmd/mcp-jail-cli", "./internal/wine/testdata/server")
	build.Dir, build.Env = "../..", append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := prefix(t, dir)
	windows := func(name string) string { return "Z:" + strings.ReplaceAll(filepath.Join(dir, name), "/", `\`) }
	args := []string{"", "a b", `a b\`, `a\b\\`, `q"r`, `\"`, "%PATH%", "^&|<>()", "a\tb", "ä€😀", "*", "--flag=a b"}
	session := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"args","arguments":{}}}`, "",
	}, "\n")
	line := append([]string{"--", windows("server.exe")}, args...)

	out, errs, status := run(session, append([]string{windows("mcp-jail.exe"), "run"}, line...)...)
	if status != 3 || !strings.Contains(out, `"id":1,"error":`) || !strings.Contains(out, "no rule about files holds on Windows") {
		t.Errorf("nothing is accepted: status %d\n%s\n%s", status, out, errs)
	}
	out, errs, status = run(session, append([]string{windows("mcp-jail.exe"), "run", "--waive", "windows"}, line...)...)
	var got []string
	for answer := range strings.Lines(out) {
		var m struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
		}
		testkit.Must(t, json.Unmarshal([]byte(answer), &m))
		if m.ID == 2 && len(m.Result.Content) == 1 {
			testkit.Must(t, json.Unmarshal([]byte(m.Result.Content[0].Text), &got))
		}
	}
	if status != 0 || !slices.Equal(got, args) {
		t.Errorf("status %d, the server has %q, want %q\n%s\n%s", status, got, args, out, errs)
	}
	if first, _, _ := strings.Cut(errs, "\n"); !strings.Contains(first, "on Windows no jail holds which files a server reads and which hosts it reaches") {
		t.Errorf("the first line is %q", first)
	}
}
