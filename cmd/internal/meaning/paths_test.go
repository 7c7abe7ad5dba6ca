package meaning

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestOtherForm: on Windows no flag has a path that run refuses, and the note says why. Elsewhere such a word
// is no absolute path.
func TestOtherForm(t *testing.T) {
	for word, want := range map[string]int{
		`\\?\C:\x`: 1, `\\.\pipe\x`: 1, `\\evil\share`: 1, `C:\x\a:b`: 1, `C:\x.`: 1, `C:\PROGRA~1`: 1, `--dir=\\evil\share`: 1, `C:\x\NUL`: 1,
		`CON`: 0, `x:y`: 0, `C:\none\x`: 0, `https://x.test/a:b`: 0,
	} {
		words := []Word{{Text: "-v"}, {Text: word}}
		found := Names(clients.Client{}, words, clients.Host{OS: "windows"})
		if len(found) != want || want > 0 && found[0].Why == "" {
			t.Errorf("%s: %+v", word, found)
		}
		for _, other := range []clients.Host{{OS: "linux"}, {OS: "windows", Mounted: true}} {
			if found := Names(clients.Client{}, words, other); len(found) > 0 {
				t.Errorf("%s elsewhere: %+v", word, found)
			}
		}
	}
}
