package session

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// packagePins has the pins of the tools of an installed package.
type packagePins struct {
	lockfile.ToolPins
	arguments []string // of the server
}

// Name implements lifecycle.Pins.
func (p packagePins) Name(capabilities []byte) string { return toolpin.Name(p.arguments, capabilities) }

// Accept implements lifecycle.Pins.
func (p packagePins) Accept() string {
	return show.Typed("mcp-jail install --accept-tools", p.Entry.Spec)
}

// PinTools has the session compare the tools of the server with those that are pinned.
func (p *Package) PinTools(s *lifecycle.Session) {
	if s.Pins = p.Pins(); s.Pins != nil {
		s.EnforcePins = p.rules.PinTools == policy.PinEnforce
	}
}

// Pins returns the pins of the server's tools, or nil if they are not pinned. A server that is
// not the program of an installed package has no pins.
func (p *Package) Pins() lifecycle.Pins {
	e := p.Entry()
	if e == nil || p.rules.PinTools == policy.PinOff {
		return nil
	}
	return packagePins{
		ToolPins:  lockfile.ToolPins{File: LockFile(*p.host), Proposed: ProposedTools(*p.host), Entry: e},
		arguments: p.line.Args,
	}
}

// ProposedTools returns the file that keeps tools which differ from the pinned ones.
func ProposedTools(host hostfs.Host) string {
	return filepath.Join(host.StateDir, lockfile.ProposedName)
}

// AcceptTools replaces the pinned tools of a package by those that differed from them: see
// lockfile.AcceptTools.
func AcceptTools(host hostfs.Host, name string) (changes []string, err error) {
	return lockfile.AcceptTools(LockFile(host), ProposedTools(host), name)
}
