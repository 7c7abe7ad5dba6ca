package catalog

import (
	"strings"
	"testing"
)

// TestNames: different servers have different file names, which splitName recognises.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	long := strings.Repeat("x", 500)
	for _, server := range []string{"", "a", "A", "a.b", "a%2Eb", "a/b", "..", "~", "a\x00", "\xff", "\xfe", long, long + "y", strings.Repeat("/", 200), strings.Repeat("/", 201)} {
		name := encodeName(server)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", server, other, name)
		}
		seen[name] = server
		if back, ok := splitName(fileName(server, aKey)); !ok || back != name || strings.ContainsAny(name, "./\x00") || len(name) > maxName {
			t.Errorf("%q: %s, %v", server, back, ok)
		}
	}
	for _, name := range []string{"", ".json", "s.json", aKey, "s." + aKey, "s." + aKey + ".json2", "s." + strings.ToUpper(aKey) + ".json", "s.x." + aKey + ".json", ".new-" + aKey} {
		if _, ok := splitName(name); ok {
			t.Errorf("%s is taken for ours", name)
		}
	}
}
