package entries

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Learns returns the values of --learn among flags of mcp-jail run, or nil if the sessions are not watched.
func Learns(flags []string) []string {
	run, err := cmdline.ParseRun(append([]string{"run"}, flags...))
	if err != nil {
		return nil
	}
	return run.Learn
}

// LearningText says what a server has while its entry has --learn with some values.
func LearningText(server string, values []string) string {
	f := &cmdline.WatchFlags{Learn: values}
	text := show.Name(server) + " is learning (--learn " + show.Line(strings.Join(values, ", ")) + "): "
	switch {
	case f.OpensReads():
		text += "in each session it reads all files but sensitive ones, and reaches no host"
	case len(f.Hosts()) > 0:
		text += "each session is watched under its policy, with which it also reaches " + show.Line(strings.Join(f.Hosts(), ", "))
	default:
		text += "each session is watched under its policy"
	}
	return text + ". `" + show.Typed("mcp-jail learn", server) + "` makes its policy of what was observed, and `" + show.Typed("mcp-jail learn --unwrap", server) + "` takes --learn out"
}
