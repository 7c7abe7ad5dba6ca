package attacks

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

func TestMain(m *testing.M) {
	jailtest.Main(m, map[string]func(args []string){behindName: runBehind})
}
