package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestReasonsOfStarted: what a grant to write would be to other servers, by what their starts would have to show.
func TestReasonsOfStarted(t *testing.T) {
	h := newFake(systems["debian"], `
		x /usr/bin/uv
		x /usr/bin/make
		x /usr/bin/sh
		x /home/u/.local/bin/tool #!/usr/bin/env sh
		f /home/u/.nvm/v20/lib/node_modules/npm/index.js
		x /home/u/.nvm/v20/bin/node20
		f /home/u/hook.js
		f /home/u/hooks/h.mjs
		f /home/u/loaded/index.js
		f /home/u/b/n.js
		f /home/u/b/lib/x.js
		f /home/u/c/m.js
		l /home/u/link /home/u/c
		f /home/u/todo.js
		d /home/u/data
		f /home/u/data/own.js
		d /home/u/notes
		f /home/u/app/index.js
		f /home/u/uv/pyproject.toml
		f /home/u/work/package.json
		f /home/u/run/run.sh
		f /home/u/py/main.py
		x /home/u/py/.venv/bin/python
		f /home/u/py/.venv/pyvenv.cfg
		d /store/tree/node_modules/p
		f /home/u/bun/x.ts
		f /home/u/db/notes.db
		f /home/u/db/config.json
	`).host()
	var others []policy.Started
	for _, line := range []string{
		"vault / node /home/u/b/n.js", "there /home/u/link node m.js", "top / node ~/todo.js",
		"files / npx -y server-filesystem /home/u/notes /home/u", "folder / timeout 9 node /home/u/app",
		"hooked / node --require /home/u/hook.js --import=../home/u/hooks/h.mjs /home/u/loaded", "project / uv --directory /home/u/uv run x",
		"unclear / make -C /home/u/work", "shell / sh /home/u/run/run.sh", "tool / /home/u/.local/bin/tool",
		"python / /home/u/py/.venv/bin/python /home/u/py/main.py", "pinned tree npx -y p ~/db/config.json", "sqlite / uvx mcp-sqlite --db-path ~/db/notes.db",
		"gone / nowhere --config=/home/u/db/config.json", "nvm / bun /home/u/bun/x.ts",
	} {
		words := strings.Fields(line)
		tree := ""
		if words[1] == "tree" {
			words[1], tree = "/", "/store/tree"
		}
		s, _ := StartedFrom(h, words[1], tree, words[2:])
		s.Name = words[0]
		others = append(others, s)
	}
	for path, want := range map[string]string{
		"b/n.js": "other_program vault", "b": "other_program vault", "b/lib/x.js": "beside_program vault", "c/m.js": "other_program there", "c/data": "beside_program there",
		"todo.js": "other_program top", "data": "", "data/own.js": "", "new": "", "notes": "", "notes/new": "", "app": "other_program folder", "app/lib": "beside_program folder",
		"loaded": "other_program hooked", "loaded/x": "beside_program hooked", "hook.js": "other_file hooked", "hooks/h.mjs": "other_file hooked", "hooks": "other_file hooked", "hooks/new.js": "",
		"uv": "other_program project", "uv/x.py": "beside_program project", "work": "", "run/run.sh": "other_program shell", "run/data": "beside_program shell",
		".local/bin/tool": "other_program tool", ".local/bin/other": "", "py/.venv/lib/x.py": "other_program python", "py/.venv": "other_program python", "py/data": "beside_program python",
		"bun/x.ts": "other_program nvm", "db/notes.db": "other_file sqlite", "db/config.json": "other_file pinned, other_file gone", "../../store/tree/node_modules/p/x.js": "other_program pinned",
	} {
		var got []string
		for _, r := range ReasonsOfStarted(&h, strings.ReplaceAll("/home/u/"+path, "/home/u/../..", ""), others) {
			got = append(got, string(r.Kind)+" "+r.Names[0])
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := ReasonsOfStarted(&h, "/home/u", others); len(got) != len(others)-2 { // all but files and unclear
		t.Errorf("the home: %v", got)
	}
}
