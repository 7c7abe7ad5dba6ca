package session

import (
	"errors"
	"io/fs"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// host answers what a diagnosis asks about a server and this machine.
type host struct {
	diagnostics.Unknown // of what only a session knows
	t                   *Target
}

func (host) Exists(path string) (exists, known bool)           { return pathExists(path), true }
func (host) May(path string, rights policy.Rights) bool        { return mayUse(path, rights) }
func (host) Canonical(path string) string                      { return ResolveLinks(path) }
func (host) Variable(name string) string                       { return os.Getenv(name) }
func (host) Listens(at string, port int) (listens, known bool) { return confine.HostListens(at, port) }
func (host) Stale(path string) bool                            { return confine.StaleSocket(path) }
func (h host) Source(name string) string                       { return h.t.Policy.FileOf(name) }
func (h host) Holds(file, name string) bool                    { return HasVariable(&h.t.Host, file, name) }
func (h host) Shared(dir string) string                        { return resolve.Shared(&h.t.Host, h.t.Policy, dir) }
func (h host) Decide(wants ...change.Want) []change.Proposal   { return h.t.Decide(wants...) }
func (h host) Identity(path string) (id policy.FileID, ok bool) {
	info, err := h.t.Host.Lstat(path)
	return info.ID, err == nil || errors.Is(err, fs.ErrNotExist)
}

// sessionHost also knows what has become of the server's policy since the start.
type sessionHost struct {
	host
	followed *Followed
	ports    *confine.Ports
}

func (h sessionHost) Elsewhere(port int) bool { return h.ports.Elsewhere(port) }
func (h sessionHost) Decide(wants ...change.Want) []change.Proposal {
	return h.followed.target().Decide(wants...)
}
