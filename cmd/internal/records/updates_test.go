//go:build unix

package records

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCheck: an update of a wrapped plugin is noticed, in the old folder or in a new one. No other
// change is.
func TestCheck(t *testing.T) {
	const wrapped = `{"a": {"command": "mcp-jail"}}`
	for name, c := range map[string]struct {
		list   string // the kind of list: "", "file", "dir"
		change func(t *testing.T, root, list string)
		want   bool
	}{
		"nothing": {"", func(*testing.T, string, string) {}, false},
		"its own file again": {"", func(t *testing.T, root, _ string) {
			testkit.WriteFile(t, filepath.Join(root, ".mcp.json"), `{"a": {"command": "x"}}`)
		}, true},
		"its own file, with our name in it": {"", func(t *testing.T, root, _ string) {
			testkit.WriteFile(t, filepath.Join(root, ".mcp.json"), `{"a": {"command": "x", "args": ["mcp-jail"]}}`)
		}, true},
		"touched": {"", func(t *testing.T, root, _ string) {
			testkit.Must(t, os.Chtimes(filepath.Join(root, ".mcp.json"), time.Now(), time.Now().Add(time.Hour)))
		}, false},
		"no file to read": {"", func(t *testing.T, root, _ string) {
			testkit.Must(t, os.Remove(filepath.Join(root, ".mcp.json")))
			testkit.Must(t, syscall.Mkfifo(filepath.Join(root, ".mcp.json"), 0o600))
		}, true},
		"removed": {"", func(t *testing.T, root, _ string) { testkit.Must(t, os.RemoveAll(root)) }, false},
		"removed from the list": {"file", func(t *testing.T, root, list string) {
			testkit.Must(t, os.RemoveAll(root))
			testkit.WriteFile(t, list, `{"plugins": {}}`)
		}, false},
		"another folder in the list": {"file", func(t *testing.T, root, list string) {
			testkit.WriteFile(t, list, `{"plugins": {"p@m": [{"installPath": "`+filepath.Dir(root)+`/2.0.0"}]}}`)
		}, true},
		"another plugin in the list": {"file", func(t *testing.T, root, list string) {
			testkit.WriteFile(t, list, `{"plugins": {"p@m": [{"installPath": `+strconv.Quote(root)+`}], "q@m": []}}`)
		}, false},
		"a folder beside it": {"dir", func(t *testing.T, root, _ string) { testkit.Must(t, os.Mkdir(filepath.Dir(root)+"/2.0.0", 0o700)) }, true},
		"a file beside it":   {"dir", func(t *testing.T, root, _ string) { testkit.WriteFile(t, filepath.Dir(root)+"/.DS_Store", "x") }, false},
		"a folder in its place": {"dir", func(t *testing.T, root, _ string) {
			testkit.Must(t, os.Rename(root, filepath.Dir(root)+"/2.0.0"))
		}, true},
		"all its folders removed": {"dir", func(t *testing.T, root, _ string) { testkit.Must(t, os.RemoveAll(filepath.Dir(root))) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			state, root := filepath.Join(dir, "state"), filepath.Join(dir, "cache", `p\q`, "1.0.0") // as a list on Windows has them, with two backslashes
			testkit.Must(t, os.Mkdir(state, 0o700))
			testkit.Must(t, os.MkdirAll(root, 0o700))
			testkit.WriteFile(t, filepath.Join(root, ".mcp.json"), wrapped)
			list := ""
			switch c.list {
			case "file":
				list = filepath.Join(dir, "installed_plugins.json")
				testkit.WriteFile(t, list, `{"plugins": {"p@m": [{"installPath": `+strconv.Quote(root)+`}]}}`)
			case "dir":
				list = filepath.Dir(root)
			}
			p := Plugin{Client: "claude-code", Title: "Claude Code", ID: "p@m", Name: "the plugin p@m", Root: root,
				File: SeeText(filepath.Join(root, ".mcp.json"), []byte(wrapped)), List: SeeFile(list)}
			testkit.Must(t, RememberPlugin(state, p, true))
			c.change(t, root, list)
			got := CheckPlugins(state)
			if (len(got) == 1) != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			if text := PluginWarning(got); c.want != strings.Contains(text, "the plugin p@m of Claude Code has changed since wrap") {
				t.Errorf("%q", text)
			}
			// What is unwrapped is forgotten.
			testkit.Must(t, RememberPlugin(state, p, false))
			if all, err := load(state); err != nil || len(all) != 0 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	if got := CheckPlugins(t.TempDir()); got != nil {
		t.Errorf("without a record: %v", got)
	}
}

// TestRemember: what is noted of a plugin's other version goes, and what is noted of its other files and
// of other plugins stays.
func TestRemember(t *testing.T) {
	plugin := func(client, id, root, file string) Plugin {
		return Plugin{Client: client, ID: id, Root: root, File: seenFile{Path: root + "/" + file}}
	}
	first := plugin("claude-code", "p", "/1", "a.json")
	for name, c := range map[string]struct {
		then Plugin
		want int
	}{
		"the same file":         {first, 1},
		"another file":          {plugin("claude-code", "p", "/1", "b.json"), 2},
		"another version":       {plugin("claude-code", "p", "/2", "b.json"), 1},
		"another plugin":        {plugin("claude-code", "q", "/1", "a.json"), 2},
		"one of another client": {plugin("gemini", "p", "/1", "a.json"), 2},
	} {
		state := t.TempDir()
		testkit.Must(t, os.Chmod(state, 0o700))
		testkit.Must(t, RememberPlugin(state, first, true))
		testkit.Must(t, RememberPlugin(state, c.then, true))
		if all, err := load(state); err != nil || len(all) != c.want {
			t.Errorf("%s: %v, %v, want %d", name, all, err, c.want)
		}
	}
}
