package starts

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// TimeoutHint returns how to give a server more time than the limit that passed. when is the
// condition, in words.
func TimeoutHint(c *facts.Case, when string) string {
	ev := c.Evidence
	key := "call_timeout_secs"
	if ev.Stage == report.StageStartup {
		key = "startup_timeout_secs"
	}
	switch {
	case ev.FromCommandLine && ev.Stage == report.StageStartup:
		return when + ", start it with " + strings.Join(LongerWords(c), " ")
	case ev.FromCommandLine:
		return when + ", declare the server in a configuration file with a larger " + key
	}
	return when + ", raise " + key + " = " + strconv.Itoa(int(ev.Timeout.Seconds())) + " under [servers." + show.Key(ev.Server) + "]"
}

// LongerWords returns the flag that gives the start of a server more time than the limit that passed.
// Calls have no such flag.
func LongerWords(c *facts.Case) []string {
	ev := c.Evidence
	if ev.Stage != report.StageStartup || ev.Timeout <= 0 {
		return nil
	}
	return []string{"--limit", fmt.Sprintf("startup_timeout_secs=%d", 2*int(ev.Timeout.Seconds()))}
}
