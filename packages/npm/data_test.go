package npm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWritersAmongRealServers reads the installed servers: a file that names its own folder
// and writes files is in the table, and the code of the table's version has its facts.
func TestWritersAmongRealServers(t *testing.T) {
	own := regexp.MustCompile(`import\.meta\.(url|dirname|filename)|__dirname|__filename`)
	writes := regexp.MustCompile(`writeFile|appendFile|createWriteStream|mkdir`)
	scope := filepath.Join(servers(t), "@modelcontextprotocol")
	entries := testkit.Get(os.ReadDir(scope))(t)
	seen := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "server-") {
			continue
		}
		manifest := testkit.Get(os.ReadFile(filepath.Join(scope, e.Name(), "package.json")))(t)
		o := testkit.Get(readObject(manifest))(t)
		variable, name := DataVariable(o.text("name"))
		files, _ := filepath.Glob(filepath.Join(scope, e.Name(), "dist", "*.js"))
		deeper, _ := filepath.Glob(filepath.Join(scope, e.Name(), "dist", "*", "*.js"))
		found := false
		for _, file := range append(files, deeper...) {
			code := testkit.Get(os.ReadFile(file))(t)
			if own.Match(code) && writes.Match(code) {
				found = true
				if !strings.Contains(string(code), variable) || !strings.Contains(string(code), "'"+name+"'") {
					t.Errorf("%s does not have what the table says: %s, %s", file, variable, name)
				}
			}
		}
		if found != (name != "") {
			t.Errorf("%s %s: writes in its own folder %v, in the table %v", o.text("name"), o.text("version"), found, name != "")
		}
		seen++
	}
	if seen < 6 {
		t.Errorf("only %d servers", seen)
	}
}
