package main

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	if accomplice(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

type steal func(tool string, arguments map[string]any) *mcp.CallToolResult

func open(t *testing.T) steal {
	t.Helper()
	c, err := client.NewInProcessClient(newServer(thefts()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Initialize(context.Background(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return func(tool string, arguments map[string]any) *mcp.CallToolResult {
		t.Helper()
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = tool, arguments
		result, err := c.CallTool(context.Background(), request)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return result
	}
}

func textOf(result *mcp.CallToolResult) string { return mcp.GetTextFromContent(result.Content[0]) }

// got calls a theft that must succeed: a thief that fails without a jail proves nothing in a jail.
func (s steal) got(t *testing.T, want, tool string, arguments map[string]any) {
	t.Helper()
	result := s(tool, arguments)
	if text := textOf(result); result.IsError || !strings.HasPrefix(text, "got: ") || !strings.Contains(text, want) {
		t.Errorf("%s %v answered %q, want it to get %q", tool, arguments, text, want)
	}
}

func (s steal) failed(t *testing.T, want, tool string, arguments map[string]any) {
	t.Helper()
	result := s(tool, arguments)
	if text := textOf(result); !result.IsError || !strings.HasPrefix(text, "failed: ") || !strings.Contains(text, want) {
		t.Errorf("%s %v answered %q, want it to fail with %q", tool, arguments, text, want)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unchanged fails the test if files were added to the working directory or removed from it.
func unchanged(t *testing.T) {
	t.Helper()
	list := func() string {
		var names []string
		filepath.WalkDir(".", func(path string, _ os.DirEntry, _ error) error {
			names = append(names, path)
			return nil
		})
		return strings.Join(names, " ")
	}
	before := list()
	t.Cleanup(func() {
		if after := list(); after != before {
			t.Errorf("left behind: %s, was: %s", after, before)
		}
	})
}

func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	outside := t.TempDir()
	secret := write(t, filepath.Join(outside, "secret"), "sesame")
	unchanged(t)
	s := open(t)

	s.got(t, `6 bytes: "sesame"`, "read_file", map[string]any{"path": secret})
	s.got(t, `6 bytes: "ses"`, "read_file", map[string]any{"path": secret, "show": 3})
	s.got(t, "1 entries: secret", "list_dir", map[string]any{"path": outside})
	s.got(t, "6 bytes", "symlink_out", map[string]any{"path": secret})
	s.got(t, "1 entries: secret", "symlink_out", map[string]any{"path": outside})
	s.got(t, "6 bytes", "hardlink_out", map[string]any{"path": secret})
	s.got(t, "may change", "chmod", map[string]any{"path": secret})
	missing := filepath.Join(outside, "missing")
	wantErrno := ""
	if runtime.GOOS != "windows" {
		wantErrno = "ENOENT"
	}
	for _, tool := range []string{"read_file", "list_dir", "hardlink_out", "symlink_out", "chmod"} {
		s.failed(t, wantErrno, tool, map[string]any{"path": missing})
	}
}

func TestKeysAreCountedNotShown(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".ssh", "id_ed25519"), "sesame")
	s := open(t)
	s.got(t, "id_ed25519 (6 bytes)", "read_ssh", nil)
	if text := textOf(s("read_ssh", nil)); strings.Contains(text, "sesame") {
		t.Errorf("the key itself is in %q", text)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	s := open(t)
	s.got(t, "wrote 3 bytes", "write_file", map[string]any{"path": path, "text": "one"})
	s.failed(t, "exist", "write_file", map[string]any{"path": path, "text": "two"})
	s.got(t, "wrote 3 bytes", "write_file", map[string]any{"path": path, "text": "two", "append": "yes"})
	if text, _ := os.ReadFile(path); string(text) != "onetwo" {
		t.Errorf("the file says %q", text)
	}
}

func TestHooks(t *testing.T) {
	t.Chdir(t.TempDir())
	unchanged(t)
	s := open(t)
	s.got(t, "made", "write_hook", nil)

	if err := os.MkdirAll(filepath.Join(".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(".git")
	hook := write(t, filepath.Join(".git", "hooks", "pre-commit"), "mine")
	s.got(t, "may write", "write_hook", nil)
	s.got(t, "in a .git of its own", "swap_git", nil)
	if text, err := os.ReadFile(hook); string(text) != "mine" {
		t.Errorf("the hook now says %q: %v", text, err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("THIEF_TOKEN", "sesame")
	s := open(t)
	s.got(t, `THIEF_TOKEN="sesame"`, "env_var", map[string]any{"name": "THIEF_TOKEN"})
	s.got(t, "THIEF_TOKEN", "env", nil)
	if text := textOf(s("env", nil)); strings.Contains(text, "sesame") {
		t.Errorf("a value is in %q", text)
	}
	s.failed(t, "not set", "env_var", map[string]any{"name": "THIEF_NO_SUCH"})
}

// listen accepts on a TCP port of the loopback until the test ends, and returns the port.
func listen(t *testing.T) uint16 {
	t.Helper()
	return netip.MustParseAddrPort(testkit.Accept(t, "tcp", "127.0.0.1:0")).Port()
}

func TestNetwork(t *testing.T) {
	s := open(t)
	port := listen(t)
	s.got(t, "connected", "connect", map[string]any{"port": port})

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s.failed(t, "refused", "connect", map[string]any{"host": "127.0.0.1", "port": closed.Addr().(*net.TCPAddr).Port})

	echo, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		b := make([]byte, 64)
		if n, from, err := echo.ReadFrom(b); err == nil {
			echo.WriteTo(b[:n], from)
		}
	}()
	s.got(t, `answered "thief\n"`, "udp", map[string]any{"port": echo.LocalAddr().(*net.UDPAddr).Port})
	s.got(t, "127.0.0.1", "dns", map[string]any{"name": "127.0.0.1"})
	s.failed(t, "", "dns", map[string]any{"name": "nothing.invalid"})
}

func TestProcesses(t *testing.T) {
	s := open(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.got(t, hello, "exec", map[string]any{"program": program, "args": []string{sayHello}})
	s.failed(t, "", "exec", map[string]any{"program": filepath.Join(t.TempDir(), "none")})
	if runtime.GOOS != "linux" {
		return
	}
	s.got(t, "processes", "processes", nil)
	s.got(t, "environ", "proc_root", map[string]any{"pid": os.Getpid()})
	s.got(t, "takes signal 0", "kill", map[string]any{"pid": os.Getpid()})
	// A number that means more than one process must never reach kill.
	for _, pid := range []int{0, -1, -os.Getpid()} {
		s.failed(t, "not the number of one process", "kill", map[string]any{"pid": pid})
	}
}

// TestSweepIsHarmless lists the thefts that the sweep must never try.
func TestSweepIsHarmless(t *testing.T) {
	for _, theft := range thefts() {
		switch theft.name {
		case "swap_git", "survive":
			if theft.sweep != nil {
				t.Errorf("%s is swept", theft.name)
			}
		case "metadata":
			if len(theft.sweep(bounty{})) != 0 || len(theft.sweep(bounty{metadata: true})) != 1 {
				t.Error("the metadata service is asked without being told to, or not when told")
			}
		case "dns":
			if len(theft.sweep(bounty{})) != 0 {
				t.Error("a name is resolved without being told to")
			}
		}
	}
}

func TestStealEverything(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("THIEF_TOKEN", "sesame")
	secret := write(t, filepath.Join(t.TempDir(), "secret"), "the words of the secret")
	unchanged(t)
	port := listen(t)
	result := open(t)("steal_everything", map[string]any{"file": secret, "variable": "THIEF_TOKEN", "port": port})
	text := textOf(result)
	if result.IsError || strings.Contains(text, "the words of the secret") {
		t.Errorf("answered %s", text)
	}
	var answer struct{ Thefts []row }
	if err := json.Unmarshal(result.RawStructuredContent, &answer); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"read_file", "connect", "env_var"} {
		found := false
		for _, r := range answer.Thefts {
			found = found || r.Theft == want && r.Got
		}
		if !found {
			t.Errorf("%s got nothing:\n%s", want, text)
		}
	}
	t.Log("\n" + text)
}
