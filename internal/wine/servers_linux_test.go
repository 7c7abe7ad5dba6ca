package wine

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

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

// TestInstall: a small package from a registry, from its installation to its removal. Without the gaps
// accepted nothing is asked of the registry.
func TestInstall(t *testing.T) {
	t.Parallel()
	s := start(t).newShop(t, []registry.Package{registry.MCPServer{}.Package()})
	line := []string{"--", "npx", "-y", "mcp-fixture"}
	s.do(t, 1, append([]string{"install"}, line...)...).says(t, "needs a jail", "mcp-jail restricts no files on Windows", "--waive windows")
	if asked := s.site.Requests(); len(asked) > 0 {
		t.Errorf("without a jail the registry was asked %v", asked)
	}
	s.do(t, 0, slices.Concat([]string{"install"}, accepted, line)...).says(t, "ready: mcp-fixture 1.0.0, 5 tools", "not enforced on this system (waived): fs")
	var asked []string
	for _, q := range s.site.Requests() {
		asked = append(asked, q.Package+" "+strconv.FormatBool(strings.Contains(q.Header.Get("User-Agent"), " win32 x64 ")))
	}
	if !slices.Equal(asked, []string{"mcp-fixture true", "mcp-fixture@1.0.0 true"}) {
		t.Errorf("the registry was asked for %q", asked)
	}
	s.do(t, 3, append([]string{"plan"}, line...)...).says(t, "package mcp-fixture 1.0.0, pinned", node.dir+`\node.exe runs it without npx`,
		"program "+node.dir+`\node.exe`, `\node_modules\mcp-fixture\server.cjs`, "every file mcp-jail restricts none on Windows", "fs: which files the server reads and changes")
	client := s.client(t, line)
	if said := client.tool(t, "about", "{}"); !strings.Contains(said, `"version":"1.0.0"`) {
		t.Errorf("the server says %s", said)
	}
	if status := client.close(t); status != 0 {
		t.Errorf("status %d", status)
	}
	s.afterwards(t, record{"mcp-fixture", "mcp-fixture", "1.0.0"})
}

// TestMemoryServer: the reference server of a memory, from the line of its authors. What a session has
// written, the next one reads.
func TestMemoryServer(t *testing.T) {
	t.Parallel()
	const name = "@modelcontextprotocol/server-memory"
	s := start(t).newShop(t, realPackages(t, name))
	line := []string{"--", "npx", "-y", name}
	s.env["MEMORY_FILE_PATH"] = s.windowsPath(s.work) + `\memory.json`
	s.do(t, 0, slices.Concat([]string{"install"}, accepted, line)...).says(t, "ready: "+name+" ", " 9 tools")
	client := s.client(t, line, "--env", "MEMORY_FILE_PATH")
	client.tool(t, "create_entities", `{"entities":[{"name":"Zoë","entityType":"person","observations":["a \"b\" c\\d"]}]}`)
	if status := client.close(t); status != 0 {
		t.Errorf("status %d", status)
	}
	if kept, err := os.ReadFile(filepath.Join(s.work, "memory.json")); err != nil || !bytes.Contains(kept, []byte("Zoë")) {
		t.Errorf("the file has %q, %v", kept, err)
	}
	client = s.client(t, line, "--env", "MEMORY_FILE_PATH")
	var graph struct {
		Entities []struct {
			Name         string
			Observations []string
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(client.tool(t, "read_graph", "{}")), &graph))
	if len(graph.Entities) != 1 || graph.Entities[0].Name != "Zoë" || !slices.Equal(graph.Entities[0].Observations, []string{`a "b" c\d`}) {
		t.Errorf("the next session reads %+v", graph)
	}
	client.close(t)
	s.afterwards(t, record{"server-memory", name, ""})
}

// TestFilesystemServer: the reference server of files, from the line of its authors, in a directory whose
// name has a blank.
func TestFilesystemServer(t *testing.T) {
	t.Parallel()
	const name = "@modelcontextprotocol/server-filesystem"
	s := start(t).newShop(t, realPackages(t, name))
	files := filepath.Join(s.work, "my files")
	testkit.Must(t, s.mkdir(files), os.WriteFile(filepath.Join(files, "a.txt"), []byte("line\r\nü\r\n"), 0o644))
	root := s.windowsPath(files)
	line := []string{"--", "npx", "-y", name, root}
	s.do(t, 0, slices.Concat([]string{"install"}, accepted, line)...).says(t, "ready: "+name+" ")
	client := s.client(t, line)
	path := func(name string) string { return strconv.Quote(root + `\` + name) }
	if text := client.tool(t, "read_text_file", `{"path":`+path("a.txt")+`}`); text != "line\r\nü\r\n" {
		t.Errorf("it reads %q", text)
	}
	client.tool(t, "write_file", `{"path":`+path("b c.txt")+`,"content":"new\r\n"}`)
	if written, err := os.ReadFile(filepath.Join(files, "b c.txt")); err != nil || string(written) != "new\r\n" {
		t.Errorf("it has written %q, %v", written, err)
	}
	if list := client.tool(t, "list_directory", `{"path":`+strconv.Quote(root)+`}`); !strings.Contains(list, "a.txt") || !strings.Contains(list, "b c.txt") {
		t.Errorf("it lists %q", list)
	}
	client.close(t)
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
