//go:build linux

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
	wheels := func(t *testing.T, w *world) recipe {
		wheel(t, w.work)
		return readRecipe(t, "wheels", `command = "python-server"`, fmt.Sprintf("command = %q\narguments = [%q]", python, w.fixture(t, "exec.py")))
	}
	checkRecipe(t, wheels, useRun("python", "-c", `
import os, sys
os.execvp("sh", ["sh", "-ec", """
	"$0" -m venv --without-pip .venv
	"$0" -m pip --python .venv/bin/python install -q --no-index --disable-pip-version-check fixture-1.0-py3-none-any.whl
	.venv/bin/python -c "import fixture; fixture.main()"
	.venv/bin/fixture-tool
""", sys.executable])`))
}
