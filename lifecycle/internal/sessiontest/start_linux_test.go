//go:build seatbelt

package sessiontest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotBySeatbelt: each name of the table is a test.
func TestNotBySeatbelt(t *testing.T) {
	var all strings.Builder
	for _, dir := range []string{"../..", "../stateful", "../stateless"} {
		files, _ := filepath.Glob(dir + "/*_test.go")
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	for name := range notBySeatbelt {
		if !strings.Contains(all.String(), "\nfunc "+name+"(") {
			t.Errorf("no test is called %s", name)
		}
	}
}
