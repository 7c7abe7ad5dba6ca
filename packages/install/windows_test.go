package install

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestScriptsOfWindows tests that no script of a package runs on Windows, and that the refusal names the
// package, the reason and the way out. Other systems and packages without scripts are the control.
func TestScriptsOfWindows(t *testing.T) {
	with := []npm.Package{{Path: "node_modules/sharp", Name: "sharp", Version: "1.0.0"}}
	r := &npmRun{installer: &Installer{Host: hostfs.Host{OS: "windows"}, Scripts: true}}
	_, ofRun := r.runScripts(context.Background(), with) // fails before it looks at the jail, which is missing
	for _, err := range []error{ofRun, mayRunScripts("windows", with)} {
		if err == nil {
			t.Fatal("a script may run on Windows")
		}
		for _, part := range []string{"sharp", "cmd.exe", "install_scripts = false", "WSL 2"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: no %s", err, part)
			}
		}
	}
	for _, system := range []string{"linux", "darwin"} {
		if err := mayRunScripts(system, with); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := mayRunScripts("windows", nil); err != nil {
		t.Errorf("without scripts: %v", err)
	}
}

// TestPythonOfWindows tests that a line of uvx is refused on Windows before anything is looked for. A line
// of npx is the control.
func TestPythonOfWindows(t *testing.T) {
	uvx, err := runline.Parse([]string{"uvx", "mcp-server-time"})
	if err != nil {
		t.Fatal(err)
	}
	npx, err := runline.Parse([]string{"npx", "-y", "server"})
	if err != nil {
		t.Fatal(err)
	}
	i := &Installer{Host: hostfs.Host{OS: "windows"}}
	_, ofFetch := i.fetch(context.Background(), nil, &uvx, nil, false)
	for _, err := range []error{ofFetch, i.CanFetch(&uvx)} {
		if err == nil || !strings.Contains(err.Error(), "mcp-server-time: packages of Python are not fetched on Windows") || !strings.Contains(err.Error(), "WSL 2") {
			t.Error(err)
		}
	}
	if canFetchOn("windows", &npx) != nil || canFetchOn("linux", &uvx) != nil || canFetchOn("darwin", &uvx) != nil {
		t.Error("a line is refused that can be fetched")
	}
}
