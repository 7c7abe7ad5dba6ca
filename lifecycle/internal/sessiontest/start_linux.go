//go:build seatbelt

package sessiontest

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/confinetest"
)

func begin() { confinetest.Main() }

func enclose() (remove func(), err error) { return confinetest.Enclose() }

// notBySeatbelt are the tests that do not run where servers start by the code for macOS, each with the
// reason.
var notBySeatbelt = map[string]string{
	"TestSilentAtStartup":          tooShort,
	"TestSilentWhateverComesFirst": tooShort,
	"TestDeclinedThenSilent":       tooShort,
	"TestThrowAwayProbe":           "it counts a server as started when its start begins, and ends sessions before that",
}

// A start counts as a part of the time that a server has for its first answer.
const tooShort = "it gives a server less time for its first answer than a start takes"

func leaveOut() {
	flag.Parse()
	flag.Set("test.skip", "^("+strings.Join(slices.Sorted(maps.Keys(notBySeatbelt)), "|")+")$")
}

// startServer starts this binary with variables, by the code for macOS.
func startServer(ctx context.Context, env []string, stdio confine.Stdio) (server, error) {
	p, err := confinetest.Start(ctx, env, stdio)
	if err != nil {
		return nil, err
	}
	return p, nil
}
