package schema

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// file is the schema in the repository, which URL leads to.
const file = "../../docs/mcp-jail.schema.json"

// TestFile compares the file with the schema that Text returns. With -update it writes the file.
func TestFile(t *testing.T) {
	text, err := Text()
	testkit.Must(t, err)
	testkit.Golden(t, "../"+file, string(text))
}
