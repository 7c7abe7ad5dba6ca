package hostfs

import (
	"os"
	"testing"
)

func put(t *testing.T, name, text string) []byte {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}
