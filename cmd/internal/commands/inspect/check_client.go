package inspect

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

func tryServer(t *session.Target, c terminal.Console, r *serverReport, timeout time.Duration) error {
	trial := handshake.Trial{Target: t, Umask: c.Umask, Name: "mcp-jail check", Timeout: timeout}
	trial.Slow = func() { c.Sayf("starting %s ...", r.Server) }
	answer, err := trial.Run(context.Background())
	if err != nil {
		return err
	}
	r.Probed = strings.TrimSpace(answer.Name + " " + answer.Version)
	if r.Probed == "" {
		r.Probed = "the server"
	}
	for _, tool := range answer.Tools {
		r.Tools = append(r.Tools, toolReport{Name: tool.Name, Description: tool.Description})
	}
	return nil
}
