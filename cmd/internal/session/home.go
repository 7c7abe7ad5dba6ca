package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// home is the directory with the private HOME and the records of a server.
type home struct {
	host   *hostfs.Host
	policy *policy.Policy // of the server
}

func (t *Target) home() *home { return &home{&t.Host, t.Policy} }

func (h *home) path() string {
	return filepath.Join(records.Path(*h.host, h.policy.KeptName()), "home")
}

// claim makes the directory, and holds it until this process ends. Callers call it before they use
// anything there.
func (h *home) claim() error {
	err := records.TakeHome(*h.host, h.policy.KeptName())
	switch {
	case err == nil || h.policy.HomeReal:
		return nil
	case errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("the private HOME of this server cannot be made: %w. Make that place writable, or let XDG_STATE_HOME name a directory of yours", err)
	}
	return &exit.HostError{Err: err}
}

// Prepare makes ready what a session of the target needs on disk: see ClaimHome and LinkHome. What LinkHome holds
// is held until this process ends.
func Prepare(t *Target, c terminal.Console) error {
	err := t.ClaimHome()
	if err == nil {
		LinkHome(t, c)
	}
	return err
}

// LinkHome makes what the rules of the server and of its tools grant below the user's home appear in the
// private HOME. Until release is called, no other start takes that away. A link that cannot be made
// ends no start.
func LinkHome(t *Target, c terminal.Console) (release func()) {
	if t.Policy.HomeReal {
		return func() {}
	}
	wanted := slices.Clone(t.Profile.HomeLinks)
	if t.Config != nil && !t.Policy.Stateful {
		for _, name := range append(t.Config.ToolsWithTable(t.Policy.Server), config.AnyTool) {
			if p, err := t.PolicyOf(name); err == nil {
				wanted = append(wanted, resolve.HomeLinks(p, t.Host)...)
			}
		}
	}
	h := homelinks.Home{StateDir: t.Host.StateDir, Server: filepath.Join(records.ServersDir, t.Policy.KeptName())}
	told, release, err := h.Link(wanted)
	for _, line := range told {
		c.Sayf("%s", show.Line(line))
	}
	if err != nil {
		c.Sayf("warning: what rules grant below your home directory is not at its place in the server's HOME: %s", show.Line(err.Error()))
	}
	return release
}

// isByHand reports whether the server is neither in a table nor has an id: anybody may have written its line.
func isByHand(t *Target) bool { return t.Config == nil }

// IsOwn reports whether the line of a server is of the user's own: of a server with an id, or of a table of the user's
// configuration. A project's entry may name a file of the project with --config.
func IsOwn(t *Target) bool {
	return t.Policy.ID != "" || t.Config != nil && t.Policy.Project == "" && len(t.Host.Configs) == 0
}

// ClaimHome makes the directory of the server, and holds it until this process ends.
func (t *Target) ClaimHome() error { return t.home().claim() }
