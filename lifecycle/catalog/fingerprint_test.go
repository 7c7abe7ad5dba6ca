package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const privateHome = "home/.local/state/mcp-jail/servers/s/home/"

// packaged is a package with everything that does and does not belong to it.
func packaged(root string) []string {
	return []string{
		root + `package.json = {"name":"x"}`, root + "dist/index.js", root + `dist/package.json = {"type":"module"}`, root + "dist/lib/a.js", root + ".git/HEAD", root + "README.md",
	}
}

var fingerprintRows = map[string]struct {
	files   []string
	command []string
	// changes are planted one after the other. The fingerprint must see each of them.
	// It must not see those in same.
	changes, same []string
}{
	"a binary": {
		[]string{"bin/server !", "bin/other"}, []string{"server", "--verbose"},
		[]string{"bin/server !"}, []string{"bin/other", "bin/new", "home/ws/new", "home/ws/package.json"},
	},
	"an argument that names a file": {
		[]string{"bin/server !", "home/ws/conf.json", "opt/data.db"}, []string{"server", "--config=conf.json", "ROOT/opt/data.db"},
		[]string{"home/ws/conf.json", "opt/data.db"}, []string{"home/ws/other.json", "opt/other.db"},
	},
	"an argument that names a file later": {
		[]string{"bin/server !"}, []string{"server", "conf.json"}, []string{"home/ws/conf.json"}, nil,
	},
	"an argument that is a link": {
		[]string{"bin/server !", "opt/a", "opt/b", "home/ws/conf -> ../../opt/a"}, []string{"server", "conf"}, []string{"opt/a"}, []string{"opt/b"},
	},
	"a directory of data": {
		[]string{"bin/server !", "home/notes/a"}, []string{"server", "ROOT/home/notes", "."}, nil,
		[]string{"home/notes/a", "home/notes/b", "home/ws/new", "home/ws/package.json"},
	},
	"a script in a package": {
		append(packaged("opt/app/"), "bin/node !", "opt/app/node_modules/.package-lock.json", "opt/app/node_modules/dep/index.js"), []string{"node", "ROOT/opt/app/dist/index.js"},
		[]string{"bin/node !", "opt/app/dist/index.js", "opt/app/dist/lib/a.js", "opt/app/dist/lib/new.js", `opt/app/package.json = {"name":"y"}`, "opt/app/node_modules/.package-lock.json", "opt/app/.npmrc"},
		[]string{"opt/app/.git/HEAD", "opt/app/node_modules/dep/index.js", "opt/other/x", "opt/app/dist/__pycache__/x"},
	},
	"a package in node_modules, with hoisted ones": {
		append(packaged("opt/node_modules/@s/app/"), "bin/node !", "opt/node_modules/.package-lock.json", "opt/node_modules/dep/index.js", "opt/node_modules/.bin/app -> ../@s/app/dist/index.js"), []string{"node", "ROOT/opt/node_modules/.bin/app"},
		[]string{"opt/node_modules/@s/app/dist/lib/a.js", "opt/node_modules/.package-lock.json"},
		[]string{"opt/node_modules/dep/index.js", "opt/node_modules/@s/other/index.js"},
	},
	"a node_modules without a lock file": {
		append(packaged("opt/app/"), "bin/node !", "opt/app/node_modules/dep/package.json", "opt/app/node_modules/@s/dep/package.json", "opt/app/node_modules/dep/index.js"), []string{"node", "ROOT/opt/app/dist/index.js"},
		[]string{"opt/app/node_modules/dep/package.json", "opt/app/node_modules/@s/dep/package.json", "opt/app/node_modules/more/", "opt/app/node_modules/@s/more/"},
		[]string{"opt/app/node_modules/dep/index.js"},
	},
	"a script that is the command": {
		append(packaged("opt/node_modules/app/"), "bin/node !", "opt/node_modules/.package-lock.json", "opt/node_modules/app/cli = #!/usr/bin/env node", "bin/app -> ../opt/node_modules/app/cli"), []string{"app"},
		[]string{"opt/node_modules/app/dist/index.js", "opt/node_modules/.package-lock.json", "bin/node !"}, []string{"bin/x"},
	},
	"node DIR": {
		append(packaged("home/ws/app/"), "bin/node !"), []string{"node", "app"}, []string{"home/ws/app/dist/index.js"}, []string{"home/ws/x.js"},
	},
	"a preloaded script": {
		append(packaged("opt/app/"), "bin/node !", "opt/hook/hook.js", `opt/hook/package.json = {"name":"h"}`, "opt/hook/a.js"), []string{"node", "--import=ROOT/opt/hook/hook.js", "ROOT/opt/app/dist/index.js"},
		[]string{"opt/hook/a.js", "opt/hook/hook.js", "opt/app/dist/index.js"}, nil,
	},
	"a virtual environment": {
		[]string{"opt/py/bin/python3.11 !", "opt/venv/pyvenv.cfg", "opt/venv/bin/python -> ../../py/bin/python3.11", "opt/venv/bin/server = #!ROOT/opt/venv/bin/python", "opt/venv/lib/python3.11/site-packages/server/main.py", "opt/venv/lib/python3.11/site-packages/server-1.dist-info/METADATA", "opt/venv/lib/python3.11/site-packages/ed.pth = ROOT/home/ws/src", "home/ws/src/main.py"}, []string{"ROOT/opt/venv/bin/server"},
		[]string{"opt/py/bin/python3.11 !", "opt/venv/pyvenv.cfg", "opt/venv/lib/python3.11/site-packages/server-2.dist-info/", "opt/venv/lib/python3.11/site-packages/one.py", "home/ws/src/main.py"},
		[]string{"opt/venv/lib/python3.11/site-packages/__pycache__/one.pyc", "opt/venv/bin/other"},
	},
	"python -m": {
		[]string{"opt/py/bin/python3.11 !", "opt/py/lib/python3.11/site-packages/a.py", "home/ws/pkg/__main__.py"}, []string{"ROOT/opt/py/bin/python3.11", "-m", "pkg.sub"},
		[]string{"home/ws/pkg/__main__.py", "opt/py/lib/python3.11/site-packages/b.py", privateHome + ".local/lib/python3.11/site-packages/c.py", "home/ws/pkg.py"}, []string{"home/ws/a.py", "home/ws/pkg/__pycache__/x"},
	},
	"a Python script": {
		[]string{"bin/python3 !", "opt/s/server.py", "opt/s/part.py"}, []string{"python3", "ROOT/opt/s/server.py"}, []string{"opt/s/server.py", "opt/s/part.py"}, []string{"opt/t.py"},
	},
	"npx": {
		[]string{"bin/node !", "opt/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node", "opt/lib/node_modules/npm/lib/x.js", `opt/lib/node_modules/npm/package.json = {"name":"npm"}`, "opt/lib/node_modules/server/package.json", "bin/npx -> ../opt/lib/node_modules/npm/bin/npx-cli.js", privateHome + ".npm/_npx/1/package.json", privateHome + ".npm/_npx/1/node_modules/.package-lock.json", privateHome + ".npm/_logs/1", "home/ws/package.json", "home/ws/index.js"}, []string{"npx", "-y", "server"},
		[]string{privateHome + ".npm/_npx/1/node_modules/.package-lock.json", privateHome + ".npm/_npx/2/package.json", privateHome + ".npm/_npx/1/package.json", "opt/lib/node_modules/server/package.json", "home/ws/package.json", "home/ws/node_modules/.package-lock.json", "opt/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node\n"},
		[]string{privateHome + ".npm/_logs/2", "home/ws/index.js", "opt/lib/node_modules/npm/lib/x.js"},
	},
	"npx in the package itself": {
		[]string{"bin/node !", "opt/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node", "bin/npx -> ../opt/lib/node_modules/npm/bin/npx-cli.js", `home/ws/package.json = {"name":"server"}`, "home/ws/index.js"}, []string{"npx", "server@latest"},
		[]string{"home/ws/index.js"}, []string{"home/ws/.git/HEAD"},
	},
	"npx DIR": {
		append(packaged("home/ws/app/"), "bin/node !", "opt/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node", "bin/npx -> ../opt/lib/node_modules/npm/bin/npx-cli.js"), []string{"npx", "./app"}, []string{"home/ws/app/dist/index.js"}, []string{"home/ws/x"},
	},
	"npm start": {
		[]string{"bin/npm !", "home/ws/package.json", "home/ws/index.js"}, []string{"npm", "start"}, []string{"home/ws/index.js", "home/ws/package.json"}, []string{"home/x"},
	},
	"uvx": {
		[]string{"bin/uvx !", privateHome + ".cache/uv/archive-v0/a/x", privateHome + ".local/share/uv/tools/t/pyvenv.cfg", "home/ws/pyproject.toml"}, []string{"uvx", "server"},
		[]string{privateHome + ".cache/uv/archive-v0/b/", privateHome + ".cache/uv/environments-v2/e/", privateHome + ".local/share/uv/tools/t/pyvenv.cfg", privateHome + ".local/share/uv/tools/t/lib/python3.12/site-packages/x.py", "bin/uvx !"}, []string{privateHome + ".cache/uv/wheels/x", "home/ws/pyproject.toml"},
	},
	"uv run": {
		[]string{"bin/uv !", "opt/p/pyproject.toml", "opt/p/server.py", "opt/p/.venv/pyvenv.cfg", "opt/p/.venv/lib/python3.12/site-packages/a.py"}, []string{"uv", "--directory", "ROOT/opt/p", "run", "server.py"},
		[]string{"opt/p/server.py", "opt/p/pyproject.toml", "opt/p/.venv/lib/python3.12/site-packages/b.py"}, []string{"opt/p/.venv/bin/x"},
	},
	"uv run here": {
		[]string{"bin/uv !", "home/ws/pyproject.toml", "home/ws/pkg/server.py"}, []string{"uv", "run", "server"}, []string{"home/ws/pkg/server.py"}, []string{"home/x"},
	},
	"bunx": {
		[]string{"bin/bunx !", privateHome + ".bun/install/cache/a/x", "home/ws/index.ts"}, []string{"bunx", "server"}, []string{privateHome + ".bun/install/cache/b/", "bin/bunx !"}, []string{"home/ws/index.ts"},
	},
	"java": {
		[]string{"bin/java !", "opt/a.jar"}, []string{"java", "-jar", "ROOT/opt/a.jar"}, []string{"opt/a.jar", "bin/java !"}, []string{"other/b.jar"},
	},
}

// TestFingerprint: changes of the program's files change the fingerprint, others do not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, row := range fingerprintRows {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, row.files...)
			take := func() string {
				t.Helper()
				f, err := Fingerprint(s.profile(append([]string{}, row.command...)...))
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			last := take()
			if again := take(); again != last {
				t.Error("it differs although nothing changed")
			}
			for _, change := range row.same {
				s.plant(change)
				if now := take(); now != last {
					t.Errorf("%s: it changed", change)
					last = now
				}
			}
			for _, change := range row.changes {
				time.Sleep(tick)
				s.plant(change)
				now := take()
				if now == last {
					t.Errorf("%s: it did not change", change)
				}
				last = now
			}
		})
	}
}

// TestFingerprintSeesWhatIsHidden: a changed file that got its old size and time back has
// another fingerprint.
func TestFingerprintSeesWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t, "bin/server !", "home/ws/conf = abc")
	conf := filepath.Join(s.root, "home/ws/conf")
	old := time.Unix(1e9, 0)
	for _, how := range []func() error{
		func() error { return os.Chtimes(conf, old, old) },
		func() error { return errors.Join(os.WriteFile(conf, []byte("abd"), 0o755), os.Chtimes(conf, old, old)) },
		func() error {
			return errors.Join(os.Rename(conf, conf+"2"), os.WriteFile(conf, []byte("abc"), 0o755), os.Chtimes(conf, old, old))
		},
		func() error { return os.Remove(conf) },
	} {
		before, err := Fingerprint(s.profile("server", "conf"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(tick)
		if err := how(); err != nil {
			t.Fatal(err)
		}
		if after, err := Fingerprint(s.profile("server", "conf")); err != nil || after == before {
			t.Errorf("it did not change (%v)", err)
		}
	}
}
