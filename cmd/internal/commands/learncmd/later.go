package learncmd

import (
	"context"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/policy"
)

// again has one more session in the jail of the last lesson.
func again(ctx context.Context, l *lesson) (*drive.Played, error) {
	argv := l.argv(cmdline.LearnFiles)
	if l.reachesHosts() {
		var err error
		if argv, err = l.trial.open(l.result, readsWorkspace(l.server.Profile), l.hosts...); err != nil {
			return nil, err
		}
	}
	return l.play(ctx, round{what: "once more, to see what changes from one session to the next", argv: argv, atOnce: (perCall{l}).atOnce(l.server.Policy.Stateful)})
}

// readsWorkspace reports whether the server's own policy lets it read the workspace.
func readsWorkspace(own *policy.Profile) bool {
	return own.Workspace != "" && own.RightsAt(own.Workspace).Has(policy.Read)
}

// withLater returns what to expect if a later session than the two expected ones is known. The two may have been
// in one second, and what changes each second, such as the name of a commit, is the same in both.
func withLater(e drive.Expected, later, got *drive.Played) drive.Expected {
	with := drive.Expected{First: e.First, Again: later}
	if len(with.Compare(got)) < len(e.Compare(got)) {
		return with
	}
	return e
}
