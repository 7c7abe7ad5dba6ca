package npm

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestSignalsInWords(t *testing.T) {
	for _, row := range testkit.Rows(t, "signals.txt", 4) {
		name, was, becomes, want := row[0], row[1], row[2], row[3]
		got, err := Signals(fmt.Appendf(nil, `[{"version":"2.0.0"%s},{"version":"1.0.0"%s}]`, more(becomes), more(was)), "1.0.0", "2.0.0")
		var words []string
		for _, s := range got {
			words = append(words, s.String())
		}
		if strings.Join(words, "; ") != want || err != nil {
			t.Errorf("%s: %q, %v", name, words, err)
		}
	}
	got, err := Signals([]byte(`{"version":"2.0.0","deprecated":true}`), "1.0.0", "2.0.0")
	if len(got) != 2 || got[0].Kind != Deprecated || got[1].String() != "the registry no longer has the old version" || err != nil {
		t.Error(got, err)
	}
	testkit.Fails(t, "", testkit.ErrorOf(Signals([]byte(`"1.0.0"`), "1.0.0", "2.0.0")), "")
	testkit.Fails(t, "HTML is metadata", testkit.ErrorOf(Signals([]byte(`<html>`), "1.0.0", "2.0.0")), "")
}

// more returns further members of an object.
func more(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}

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
