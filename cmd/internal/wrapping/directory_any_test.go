package wrapping

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFromAnyDir tests that wrap says of an entry of all projects that each directory has other code for it.
func TestFromAnyDir(t *testing.T) {
	h := newHost(t)
	user, own := filepath.Join(h.Home, ".gemini/settings.json"), filepath.Join(h.Project, ".gemini/settings.json")
	for _, c := range []struct {
		file, entry string
		says        bool
	}{
		{user, `"command": "python3", "args": ["server.py"]`, true},
		{user, `"command": "python3", "args": ["-m", "server"]`, true},
		{user, `"command": "python3", "args": ["-P", "-m", "server"]`, false},
		{user, `"command": "python3", "args": ["/opt/server.py"]`, false},
		{user, `"command": "npx", "args": ["-y", "server"]`, false},
		{user, `"command": "uvx", "args": ["--from", "package", "server"]`, false},
		{user, `"command": "python3", "args": ["server.py"], "cwd": "/opt"`, false},
		{own, `"command": "python3", "args": ["server.py"]`, false},
	} {
		write(t, c.file, `{"mcpServers": {"s": {`+c.entry+`}}}`)
		change := only(t, h, Selection{Clients: []string{"gemini"}, Files: []string{c.file}}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil))
		p := change.Servers[0]
		if says := strings.Contains(strings.Join(p.Notes, "\n"), "its code depends on the directory"); p.Left != "" || says != c.says {
			t.Errorf("%s in %s: notes %q, left %q", c.entry, c.file, p.Notes, p.Left)
		}
	}
}
