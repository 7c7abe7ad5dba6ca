package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
	// changes are planted one after the other. The fingerprint must see each of them. It need not see
	// those in same: the answers are asked for again anyway.
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
	"a script in a package": {
		append(packaged("opt/app/"), "bin/node !", "opt/app/node_modules/.package-lock.json", "opt/app/node_modules/dep/index.js"), []string{"node", "ROOT/opt/app/dist/index.js"},
		[]string{"bin/node !", "opt/app/dist/index.js", `opt/app/package.json = {"name":"y"}`, "opt/app/node_modules/.package-lock.json"},
		[]string{"opt/app/.git/HEAD", "opt/app/node_modules/dep/index.js", "opt/other/x", "opt/app/dist/lib/a.js"},
	},
	"a package in node_modules, with hoisted ones": {
		append(packaged("opt/node_modules/@s/app/"), "bin/node !", "opt/node_modules/.package-lock.json", "opt/node_modules/dep/index.js", "opt/node_modules/.bin/app -> ../@s/app/dist/index.js"), []string{"node", "ROOT/opt/node_modules/.bin/app"},
		[]string{`opt/node_modules/@s/app/package.json = {"name":"y"}`, "opt/node_modules/.package-lock.json"},
		[]string{"opt/node_modules/dep/index.js", "opt/node_modules/@s/other/index.js"},
	},
	"a script that is the command": {
		append(packaged("opt/node_modules/app/"), "bin/node !", "opt/node_modules/.package-lock.json", "opt/node_modules/app/cli = #!/usr/bin/env node", "bin/app -> ../opt/node_modules/app/cli"), []string{"app"},
		[]string{"opt/node_modules/app/cli = #!/usr/bin/env node\n", "opt/node_modules/.package-lock.json", "bin/node !"}, []string{"bin/x"},
	},
	"a virtual environment": {
		[]string{"opt/py/bin/python3.11 !", "opt/venv/pyvenv.cfg", "opt/venv/bin/python -> ../../py/bin/python3.11", "opt/venv/bin/server = #!ROOT/opt/venv/bin/python"}, []string{"ROOT/opt/venv/bin/server"},
		[]string{"opt/py/bin/python3.11 !", "opt/venv/pyvenv.cfg", "opt/venv/bin/server = #!ROOT/opt/venv/bin/python\n"}, []string{"opt/venv/bin/other"},
	},
	"a Python script": {
		[]string{"bin/python3 !", "opt/s/server.py", "opt/s/pyproject.toml"}, []string{"python3", "ROOT/opt/s/server.py"}, []string{"opt/s/server.py", "opt/s/pyproject.toml"}, []string{"opt/t.py"},
	},
	"npx": {
		[]string{"bin/node !", "opt/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node", "bin/npx -> ../opt/lib/node_modules/npm/bin/npx-cli.js", privateHome + ".npm/_npx/1/package.json"}, []string{"npx", "-y", "server"},
		[]string{privateHome + ".npm/_npx/2/package.json"}, []string{privateHome + ".npm/_logs/2", "home/ws/index.js"},
	},
	"uvx": {
		[]string{"bin/uvx !", privateHome + ".cache/uv/archive-v0/a/x"}, []string{"uvx", "server"},
		[]string{privateHome + ".cache/uv/archive-v0/b/", "bin/uvx !"}, []string{privateHome + ".cache/uv/wheels/x"},
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
				testkit.Must(t, err)
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
		testkit.Must(t, err)
		time.Sleep(tick)
		testkit.Must(t, how())
		if after, err := Fingerprint(s.profile("server", "conf")); err != nil || after == before {
			t.Errorf("it did not change (%v)", err)
		}
	}
}
