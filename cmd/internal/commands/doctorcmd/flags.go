package doctorcmd

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/presets"
)

// checkFlags checks that this mcp-jail accepts its flags in an entry. The files of --config are those of
// checkConfiguration.
func (i *installation) checkFlags(s *start) []finding {
	given := s.of.Started(s.entry, s.verdict.Line.Flags, i.clients)
	flags, err := cmdline.ParseRun(append([]string{"run"}, given...))
	var unknown *presets.UnknownError
	if err == nil && flags.Preset != "" && !s.isConfigured {
		err = s.of.Unfit(s.entry, s.verdict.Line.Argv, flags.Preset, flags.Env, i.clients)
	}
	switch {
	case errors.As(err, &unknown):
		return []finding{{Stops: true, status: exit.Usage, role: "asked for by", What: "this mcp-jail has no preset " + show.Quote(flags.Preset), Fix: "install the version that wrote it, or unwrap and wrap the entry again"}}
	case err != nil:
		return []finding{{Stops: true, status: exit.Usage, role: "in", What: err.Error(), Why: "mcp-jail refuses the line, and the server does not start", Fix: "correct the flags in the entry"}}
	case !s.isConfigured && len(flags.Config) > 0:
		return []finding{{Stops: true, status: exit.Usage, role: "in", What: "--config has no effect on a command after --", Why: "mcp-jail refuses the line, and the server does not start", Fix: "take --config out, or declare the server in that file and name it"}}
	}
	return nil
}
