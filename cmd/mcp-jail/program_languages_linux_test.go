package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestGoBinary tests the recipe of a static binary, which needs no rule at all.
func TestGoBinary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, runAsEnv+"=go-server", "TEST_WORK="+w.work)
	self, err := os.Executable()
	must(t, err)
	r := readRecipe(t, "binary", `command = "/home/me/bin/server"`,
		fmt.Sprintf("command = %q\nvariables = [%q, \"TEST_WORK\"]", self, runAsEnv))
	got := w.attempt(t, r.name, r.config(r.access...), func(t *testing.T, w *world, s *clientSession) toolResult { return s.tool("probe", nil) })
	if got.IsError || got.texts() != "child loopback true\n" {
		t.Errorf("%s", got.raw)
	}
	if _, err := os.Stat(filepath.Join(w.work, "from-go.txt")); err == nil {
		t.Error("it wrote into the workspace, which nothing grants")
	}
}

// TestJava tests a Java virtual machine, which compiles at run time, keeps a file in /tmp
// for its tools, and starts dozens of threads.
func TestJava(t *testing.T) {
	need(t, "node", "javac")
	t.Parallel()
	java := func(t *testing.T, w *world) recipe {
		w.plant(t, w.base, map[string]string{"server/package.json": "{}", "server/Main.java": source(t, "Main.java"), "work/in.txt": "read"})
		return execRecipe(t, "reader")
	}
	checkRecipe(t, java, func(t *testing.T, w *world, s *clientSession) toolResult {
		main := filepath.Join(w.base, "server", "Main.java")
		r := s.tool("run", map[string]any{"argv": []string{"java", main, filepath.Join(w.work, "in.txt")}})
		if !r.IsError && strings.TrimSpace(r.texts()) != "text true read" {
			t.Errorf("%s", r.texts())
		}
		return r
	})

	w := newWorld(t)
	s := execSession(t, w)
	w.plant(t, w.work, map[string]string{"Main.java": source(t, "Main.java"), "in.txt": "read"})
	s.mustRun("javac", "Main.java")
	s.mustRun("sh", "-c", "java Main in.txt && ls -d /tmp/hsperfdata_*")
	// ZGC keeps its heap in a memfd of the maximum size of the heap, by default a quarter of
	// the machine.
	s.mustRun("java", "-XX:+UseZGC", "-Xmx512m", "Main", "in.txt")
	s.mustFail("File too large", "java", "-XX:+UseZGC", "-Xmx2g", "Main", "in.txt")
	s.close()
}

// TestNode tests what programs use of node: threads, processes, watchers, sockets,
// WebAssembly.
func TestNode(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"cluster.js": source(t, "cluster.js")})
	s := execSession(t, w)
	for name, script := range testkit.Archive(t, "node-forms.txt") {
		if got := strings.TrimSpace(s.mustRun("node", "-e", script)); got != "ok" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if out := s.mustFail("", "node", "-e", `require("net").connect(`+hostPort(t)+`, "127.0.0.1").on("error", (e) => { console.log(e.code); process.exit(1) }).on("connect", () => process.exit(0))`); !strings.Contains(out, "ECONNREFUSED") && !strings.Contains(out, "EACCES") && !strings.Contains(out, "ENETUNREACH") {
		t.Errorf("a connection to the host: %s", out)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// npmPackages has two packages. One needs the other, has an install script, and has directories with
// protected names.
func npmPackages() fixture.Stock {
	return fixture.Stock{Packages: []fixture.Package{
		{
			Name: "jail-fixture", Version: "1.0.0", Bin: map[string]string{"jail-fixture": "main.cjs"},
			Dependencies: map[string]string{"jail-fixture-dep": "^1.0.0"},
			Scripts:      map[string]string{"postinstall": `node -e "require('fs').writeFileSync('installed','by a script')"`},
			Files: map[string]string{
				"main.cjs":                 "#!/usr/bin/env node\nconsole.log('dependency', require('jail-fixture-dep'));\n",
				".vscode/settings.json":    "{}",
				".github/workflows/ci.yml": "on: push",
				".husky/pre-commit":        "true",
				".envrc":                   "true",
			},
		},
		{Name: "jail-fixture-dep", Version: "1.0.0", Files: map[string]string{"index.js": "module.exports = 'loaded';\n"}},
	}}
}

// TestNpmInstall tests that npm installs packages with scripts into the workspace, also where they
// are already, and that their programs run. Names that are protected elsewhere are not protected
// below node_modules. npx fetches a package into the private HOME and starts it.
func TestNpmInstall(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	site := fixture.Start(t, npmPackages())
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	w := newWorld(t)
	r := execRecipe(t, "packages")
	r.access = append([]string{"[[servers.packages.access.net]]\nhost = \"localhost\"\nport = " + port + "\nallow = true\n"}, r.access...)
	w.plant(t, w.work, map[string]string{"package.json": `{"name":"project","version":"1.0.0"}`})
	r.lastRule(t, w, useRun("sh", "-ec", strings.ReplaceAll(source(t, "npm.sh"), "REGISTRY", site.URL)),
		useRun("node_modules/.bin/jail-fixture"))
}

// TestNpxInstalled starts a package that is installed in the workspace, by the path that the error names: npx would start
// that one, and not the registry's. The workspace needs a rule with execute, since its programs are not in the baseline.
func TestNpxInstalled(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	servers := os.Getenv("MCPJAIL_SERVERS")
	program := filepath.Join(servers, "node_modules", ".bin", "mcp-server-sequential-thinking")
	refused, _ := w.jail("--workspace", servers, "--read", ".", "--execute", ".", "--", "npx", "mcp-server-sequential-thinking").CombinedOutput()
	if !strings.Contains(string(refused), program) {
		t.Errorf("%s", refused)
	}
	s := open(t, w.jail("--workspace", servers, "--read", ".", "--execute", ".", "--", program), nil)
	if tools := s.tools(); len(tools) != 1 {
		t.Errorf("tools: %q", tools)
	}
	if r := s.tool("sequentialthinking", map[string]any{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}); r.IsError {
		t.Error(r.texts())
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}

// pythons returns the interpreters to test: the first python3 in PATH, which may be a
// version manager's, and with MCPJAIL_LONG=1 also the system's.
func pythons(t *testing.T) []string {
	t.Helper()
	need(t, "python3")
	found, _ := exec.LookPath("python3")
	list := []string{found}
	if !testkit.Long() {
		return list
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil && found != "/usr/bin/python3" {
		list = append(list, "/usr/bin/python3")
	}
	return list
}

// TestPython tests what programs use of Python, and virtual environments inside and
// outside the workspace.
func TestPython(t *testing.T) {
	t.Parallel()
	for _, python := range pythons(t) {
		t.Run(strings.Trim(strings.ReplaceAll(filepath.Dir(python), "/", "-"), "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := open(t, w.jail("--", python, w.fixture(t, "exec.py")), nil)
			for name, script := range testkit.Archive(t, "python-forms.txt") {
				if got := strings.Fields(s.mustRun("python", "-c", script)); len(got) == 0 || got[len(got)-1] != "ok" {
					t.Errorf("%s: %q", name, got)
				}
			}
			for _, method := range []string{"fork", "spawn", "forkserver"} {
				file := "mp_" + method + ".py"
				w.plant(t, w.work, map[string]string{file: `
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    c = multiprocessing.get_context("` + method + `")
    with c.Pool(2) as p: assert p.map(square, range(5)) == [0, 1, 4, 9, 16]
    q = c.Queue(); p = c.Process(target=q.put, args=("ok",)); p.start(); print(q.get()); p.join()
`})
				if got := strings.TrimSpace(s.mustRun("python", file)); got != "ok" {
					t.Errorf("multiprocessing, %s: %q", method, got)
				}
			}
			// A virtual environment that was made in the jail, in the workspace.
			s.mustRun("python", "-m", "venv", "--without-pip", "env")
			if got := strings.TrimSpace(s.mustRun("python", "-c", `
import subprocess
r = subprocess.run(["env/bin/python", "-c", "import sys; print(sys.prefix != sys.base_prefix)"], capture_output=True, text=True)
print(r.stdout or r.stderr)`)); got != "True" {
				t.Errorf("an environment in the workspace: %s", got)
			}
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
			}

			// A server in a virtual environment outside the workspace.
			venv := filepath.Join(w.base, "venv")
			if out, err := w.plain(python, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
				t.Fatalf("venv: %v: %s", err, out)
			}
			sites, _ := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
			if len(sites) != 1 {
				t.Fatalf("site-packages: %q", sites)
			}
			w.plant(t, sites[0], map[string]string{"installed.py": "word = 'ok'\n"})
			s = open(t, w.jail("--", filepath.Join(venv, "bin", "python"), w.fixture(t, "exec.py")), nil)
			if got := strings.TrimSpace(s.mustRun("python", "-c", "import installed, sys; assert sys.prefix != sys.base_prefix; print(installed.word)")); got != "ok" {
				t.Errorf("venv: %q", got)
			}
			s.close()
		})
	}
}

// wheel writes a Python package with a program and a shared library, as a file for pip.
func wheel(t *testing.T, dir string) {
	t.Helper()
	native, err := filepath.Glob("/usr/lib/*/libm.so.6")
	must(t, err)
	more, _ := filepath.Glob("/lib*/libm.so.6")
	native = append(native, more...)
	if len(native) == 0 {
		t.Fatal("no libm.so.6")
	}
	site := fixture.Start(t, fixture.Stock{Wheels: []fixture.Wheel{{
		Name: "fixture", Version: "1.0", Scripts: map[string]string{"fixture-tool": "fixture:main"},
		Files: map[string]string{
			"fixture/__init__.py": "import ctypes, os\ndef main():\n    lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'native.so'))\n    lib.cos.restype = ctypes.c_double\n    print('cos', lib.cos(ctypes.c_double(0)))\n",
			"fixture/native.so":   testkit.ReadFile(t, native[0]),
		},
	}}})
	const name = "fixture-1.0-py3-none-any.whl"
	r, err := http.Get(site.URL + "/files/" + name)
	must(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
}

// withPip returns an interpreter that has pip.
func withPip(t *testing.T) string {
	t.Helper()
	list := pythons(t)
	i := slices.IndexFunc(list, func(python string) bool { return exec.Command(python, "-m", "pip", "--version").Run() == nil })
	if i < 0 {
		testkit.Skip(t, "pip", "none of %q has it", list)
	}
	return list[i]
}

// TestPythonWheel installs a package with pip in a virtual environment in the jail.
// Mapping its shared library needs no further right; its programs need a rule with
// execute.
func TestPythonWheel(t *testing.T) {
	python := withPip(t)
	t.Parallel()
	w := newWorld(t)
	wheel(t, w.work)
	r := readRecipe(t, "wheels", `command = "python-server"`, fmt.Sprintf("command = %q\narguments = [%q]", python, w.fixture(t, "exec.py")))
	r.lastRule(t, w, useRun("python", "-c", "\n"+source(t, "wheels.py")), useRun(".venv/bin/fixture-tool"))
}
