package clients

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestByFile tests which client a path belongs to.
func TestByFile(t *testing.T) {
	hosts := map[string]Host{
		"linux":   {OS: "linux", Home: "/home/me", Project: "/home/me/app"},
		"windows": {OS: "windows", Home: `C:\Users\me`},
	}
	for _, row := range testkit.Rows(t, "byfile.txt", 5) {
		system, file, name, scope, written := row[0], row[1], row[2], row[3], row[4]
		client, place, ok := ByFile(file, hosts[system])
		found := map[string]string{"linux": place.Linux, "windows": place.Windows}[system]
		if client.Name != name || string(place.Scope) != scope || found != written || ok != (name != "") {
			t.Errorf("%s: %q %s %q, want %q %s %q", file, client.Name, place.Scope, found, name, scope, written)
		}
	}
}
