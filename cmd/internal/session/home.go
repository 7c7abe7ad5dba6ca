package session

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// homePath returns the path of the private HOME of the server.
func (t *Target) homePath() string {
	return filepath.Join(records.Path(t.Host, t.Policy.KeptName()), "home")
}

// claim makes the directory of the server, and holds it until this process ends. Callers call it before they use
// anything there.
func (t *Target) claim() error {
	return t.refuseHome(records.TakeHome(t.Host, t.Policy.KeptName()))
}

// refuseHome returns the error of a start whose directory cannot be made.
func (t *Target) refuseHome(err error) error {
	switch {
	case err == nil || t.Policy.HomeReal:
		return nil
	case errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("the HOME of this server cannot be made: %w. Make that place writable, or let XDG_STATE_HOME name one of your directories", err)
	}
	return &terminal.HostError{Err: err}
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

// IsOwn reports whether the line of a server is of the user's own: of a server with an id, or of a table of the user's
// configuration. A project's entry may name a file of the project with --config.
func IsOwn(t *Target) bool {
	return t.Policy.ID != "" || t.Config != nil && t.Policy.Project == "" && len(t.Host.Configs) == 0
}

// ClaimHome begins a start: it makes the directory of the server, and holds it until this process ends. Without an
// error, the start takes the programs that PATH has: see takePrograms.
func (t *Target) ClaimHome() error {
	t.begun = true
	unnoted, err := t.takePrograms(t.Profile)
	if unnoted != nil {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "program-not-noted", Message: "the program of this server could not be noted (" + unnoted.Error() + "): the next start takes another one unasked", Where: t.Policy.Where})
	}
	if err != nil {
		return err
	}
	return t.claim()
}

// about returns the command, the package and the configuration of a target, for `mcp-jail status`.
func (t *Target) about() (a records.About) {
	var redact *diagnostics.Redactor
	if t.Profile != nil {
		redact = diagnostics.NewRedactor(t.Profile.Env)
	}
	for _, word := range t.givenCommand() {
		a.Command = append(a.Command, redact.Redact(word))
	}
	if e := t.Package.Entry(); e != nil {
		a.Package = &records.Package{Ecosystem: string(e.Ecosystem), Spec: e.Spec, Name: e.Name, Version: e.Version}
	}
	a.Configuration = t.configuration()
	if t.Policy != nil {
		if a.Project = t.Policy.Project; t.Policy.Key != "" {
			a.Name = cmp.Or(t.commandLine.Called, t.Policy.Server)
		}
		for _, word := range policy.OrderWaivers(t.Policy.Waive) {
			a.Waived = append(a.Waived, string(word))
		}
	}
	return a
}

// NewRecorder returns the recorder of a session of a target.
func NewRecorder(t *Target) *records.Recorder {
	r := records.New(t.Host, t.Policy.KeptName())
	r.Project, r.About = t.Policy.Project, t.about
	return r
}

func (t *Target) givenCommand() []string {
	if t.given == nil && t.Policy != nil {
		return append([]string{t.Policy.Command}, t.Policy.Arguments...)
	}
	return t.given
}

// configuration returns the source of the policy of a target, or nil if the target was not loaded
// by Load.
func (t *Target) configuration() *records.Configuration {
	if t.Policy == nil || t.source.again == nil {
		return nil
	}
	c := &records.Configuration{ID: t.source.options.ID, Files: AbsolutePaths(t.source.options.Files)}
	if len(c.Files) == 0 {
		c.Workspace = expand(t.source.options.Workspace, t.Host)
	}
	c.Configured = t.Config != nil && t.commandLine.Command == nil
	return c
}
