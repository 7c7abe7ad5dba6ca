package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
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
	host    *hostfs.Host
	policy  *policy.Policy // of the server
	command []string       // as the user gave it

	dir, workspace string // where a relative program begins, and where its script does

	configured bool
	files      []string // of the configuration that --config names

	answered *func() // of the target
}

func (t *Target) home() *home {
	h := &home{host: &t.Host, policy: t.Policy, command: t.givenCommand(), dir: t.Host.Dir, workspace: t.workspaceDir(), configured: len(t.commandLine.Command) == 0, files: AbsolutePaths(t.source.options.Files), answered: &t.answered}
	if h.configured {
		h.dir = h.workspace
	}
	return h
}

func (h *home) path() string {
	return filepath.Join(records.Path(*h.host, h.policy.KeptName()), "home")
}

// claim returns an error for the user if the directory was made for another server of that name.
// Callers call it before they use anything there.
func (h *home) claim() error {
	err := h.own()
	switch other := (*records.OtherOwnerError)(nil); {
	case errors.As(err, &other):
		return exit.Advise(h.configured, other, other.Fix(h.configured))
	case !h.policy.HomeReal && (errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES)):
		return &exit.HostError{Err: fmt.Errorf("the private HOME of this server cannot be made: %w. Make that place writable, or let XDG_STATE_HOME name a directory of yours", err)}
	case err != nil && !h.policy.HomeReal:
		return &exit.HostError{Err: err}
	}
	return nil
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
	if t.Package != nil && t.Package.data != nil {
		h.Stay = []string{dataDir}
	}
	told, release, err := h.Link(wanted)
	for _, line := range told {
		c.Sayf("%s", show.Line(line))
	}
	if err != nil {
		c.Sayf("warning: what rules grant below your home directory is not at its place in the server's HOME: %s", show.Line(err.Error()))
	}
	return release
}

// ClaimHome returns an error if the directory of the server was made for another one.
func (t *Target) ClaimHome() error { return t.home().claim() }

// Answered notes that the HOME has something that is worth keeping: the server has answered, or the user
// has logged in there.
func Answered(t *Target) {
	if t.answered != nil {
		t.answered()
	}
}

func (h *home) own() (err error) {
	if h.policy.ID != "" {
		return records.TakeHome(*h.host, h.policy.ID)
	}
	if h.policy.Project != "" {
		return records.TakeProjectHome(*h.host, h.policy.Server, h.policy.KeptName(), "home-"+policy.ShortHash(h.policy.Project))
	}
	own := records.Owner{Configured: h.configured, Files: h.files, Program: digest(cmdline.IdentityIn(h.command, h.dir, h.workspace)), Dir: h.codeDir()}
	*h.answered, err = records.Claim(*h.host, h.policy.KeptName(), own, func(a records.About) (o records.Owner, known bool) {
		if a.Configuration == nil || len(a.Command) == 0 {
			return o, false
		}
		o = records.Owner{Configured: a.Configuration.Configured, Files: a.Configuration.Files, Program: own.Program}
		if text := cmdline.Identity(a.Command, ""); text != cmdline.Identity(h.command, "") {
			o.Program = digest(text)
		}
		return o, true
	})
	return err
}

func (h *home) codeDir() string { return cmdline.CodeDir(h.command, h.dir, h.workspace) }

// place gives code of another directory than that which has the name a HOME of its own: two projects may
// give one name to different servers, and a cloned repository must not get the HOME of another one.
func (h *home) place() {
	if dir := h.codeDir(); dir != "" && h.policy.Project == "" && h.policy.ID == "" && records.IsElsewhere(*h.host, h.policy.Server, dir) {
		h.policy.CodeDir = dir
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
