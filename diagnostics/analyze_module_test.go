package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestModules: a module that the server's file does not find leads to the package, or to the directory
// that it lies in, so that one line is enough. What the file's words alone choose is not widened.
func TestModules(t *testing.T) {
	node := func(module, from string) string {
		return "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '" + module + "'\nRequire stack:\n- " + from + "\n    at Function._load (node:internal/modules/cjs/loader:1207:15)\n    at x (node:internal:2:3) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '" + from + "' ]\n}\n\nNode.js v20.20.2"
	}
	python := func(module, from string) string {
		return "Traceback (most recent call last):\n  File \"/srv/py/run.py\", line 3, in <module>\n    import a\n  File \"" + from + "\", line 1, in <module>\n    from " + module + " import x\nModuleNotFoundError: No module named '" + module + "'"
	}
	for name, c := range map[string]struct{ stderr, flags string }{
		"package":            {node("../lib/a.js", "/srv/app/dist/index.js"), "--read /srv/app"},
		"without extension":  {node("../lib/a", "/srv/app/dist/index.js"), "--read /srv/app"},
		"no package":         {node("../lib/b.js", "/srv/plain/dist/index.js"), "--read /srv/plain/lib"},
		"imported":           {"Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/srv/app/lib/a.js' imported from /srv/app/dist/index.js\n    at x (node:internal:1:2)", "--read /srv/app"},
		"imported, URL":      {"Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'file:///srv/app/lib/a.js' imported from 'file:///srv/app/dist/index.js'\n", "--read /srv/app"},
		"linked":             {node("shared", "/srv/app/dist/index.js"), "--read /srv/shared"},
		"linked, scope":      {node("@a/shared/sub", "/srv/app/dist/index.js"), "--read /srv/shared"},
		"linked package":     {"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'shared' imported from /srv/app/dist/index.js", "--read /srv/shared"},
		"Python":             {python("helpers", "/srv/py/tool.py"), "--read /srv/py"},
		"Python, a file":     {python("util.deep", "/srv/py/tool.py"), "--read /srv/py"},
		"Python, in HOME":    {python("util", privateHome+"/py/tool.py"), "--read /srv/py"},
		"another package":    {node("/srv/other/lib/c.js", "/srv/app/dist/index.js"), "--read /srv/other/lib/c.js"},
		"data":               {node("../../data/keys.json", "/srv/app/dist/index.js"), "--read /srv/data/keys.json"},
		"of home":            {node("../x.js", "/home/u/a/index.js"), "--read ~/x.js"},
		"granted already":    {node("./index.js", "/srv/app/dist/index.js"), ""},
		"not on the host":    {node("../lib/none.js", "/srv/app/dist/index.js"), ""},
		"not installed":      {node("left-pad", "/srv/app/dist/index.js"), ""},
		"a program's name":   {python("git", "/srv/py/tool.py"), ""},
		"importer not there": {node("shared", "/srv/app/gone.js"), ""},
		"importer hidden":    {node("shared", "/srv/hidden/index.js"), "--read /srv/hidden/index.js"},
		"secret":             {node("../../../home/u/.ssh/id.js", "/srv/app/dist/index.js"), ""},
	} {
		h := host{
			"/srv/app/package.json": true, "/srv/app/lib/a.js": true, "/srv/app/dist/index.js": true, "/srv/app/node_modules/shared/i.js": true, "/srv/app/node_modules/@a/shared/i.js": true,
			"/srv/plain/dist/index.js": true, "/srv/plain/lib/b.js": true, "/srv/other/package.json": true, "/srv/other/lib/c.js": true, "/srv/data/keys.json": true,
			"/srv/py/pyproject.toml": true, "/srv/py/tool.py": true, "/srv/py/run.py": true, "/srv/py/helpers/__init__.py": true, "/srv/py/util.py": true,
			privateHome + "/py/tool.py": true, "/srv/shared/i.js": true, "/srv/hidden/index.js": true, "/home/u/a/index.js": true, "/home/u/x.js": true, "/home/u/.ssh/id.js": true, "/usr/bin/git": true,
		}
		ev := evidence("")
		ev.Profile = fixture(func(p *policy.Profile) {
			for _, dir := range []string{"/srv/app/dist", "/srv/app/node_modules", "/srv/plain/dist", "/srv/py/tool.py", "/srv/py/run.py", "/home/u/a"} {
				p.Entries = append(p.Entries, policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
			}
		})
		ev.Exists = h.exists
		ev.Canonical = func(p string) string {
			if rest, ok := strings.CutPrefix(p, "/srv/app/node_modules/"); ok {
				return "/srv/" + strings.TrimPrefix(rest, "@a/")
			}
			if rest, ok := strings.CutPrefix(p, privateHome+"/py/"); ok {
				return "/srv/py/" + rest
			}
			return p
		}
		ev.Stage, ev.Text, ev.Exit, ev.FromCommandLine = StageStartup, "", &Exit{Code: 1}, true
		ev.Stderr = strings.Split(c.stderr, "\n")
		d := Diagnose(ev)
		got := strings.Join(d.Words, " ")
		if got = strings.TrimPrefix(got, "--write . "); got != c.flags {
			t.Errorf("%s: %q, want %q: %s; %s", name, got, c.flags, d.Cause, d.Fix)
		}
	}
}
