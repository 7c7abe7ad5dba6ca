package npm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// answers returns what the code of npm itself decided, which testdata keeps. With -update
// it is asked again: script gets a directory below npm's node_modules.
func answers(t *testing.T, script, modules string) (lines [][]any) {
	t.Helper()
	base := "testdata/" + script
	if testkit.Update() {
		npm, err := exec.LookPath("npm")
		if err == nil {
			npm, err = filepath.EvalSymlinks(npm)
		}
		testkit.Must(t, err)
		out := testkit.Get(exec.Command("node", base+".cjs", filepath.Join(npm, "../../node_modules", modules)).Output())(t)
		testkit.Must(t, os.WriteFile(base+".json", out, 0o644))
	}
	data := testkit.Get(os.ReadFile(base + ".json"))(t)
	if err := json.Unmarshal(data, &lines); err != nil || len(lines) < 400 {
		t.Fatal(len(lines), err)
	}
	return lines
}

func TestEngineFitsAsNodeSemver(t *testing.T) {
	for _, line := range answers(t, "semver", "semver") {
		rng, v := line[0].(string), line[1].(string)
		var got any
		if ok, err := EngineFits(rng, v); err == nil {
			got = ok
		}
		testkit.Equal(t, fmt.Sprintf("%q, %s", rng, v), got, line[2])
	}
}

func TestProgramAsNpm(t *testing.T) {
	for _, line := range answers(t, "bin", "") {
		var manifest struct{ Bin any }
		testkit.Must(t, json.Unmarshal([]byte(line[0].(string)), &manifest))
		named, _ := manifest.Bin.(map[string]any)
		last := map[string]bool{}
		for name := range named {
			last[path.Base(strings.NewReplacer(`\`, "/", ":", "/").Replace(name))] = true
		}
		if _, list := manifest.Bin.([]any); list || len(last) < len(named) {
			continue // see the limits of the package
		}
		pkg := folder(line[0].(string), "a.js: ", "b.js: ", "dist/c.js: ", "c/d.js: ")
		var entry any
		if s, err := Program(pkg, ""); err == nil {
			entry = s.Entry
		}
		testkit.Equal(t, line[0], entry, line[2])
	}
}
