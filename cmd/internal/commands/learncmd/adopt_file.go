package learncmd

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A taking has what decides which paths of another's preset become rules here: the host, the server's policy, and
// the directory in which the server starts.
type taking struct {
	host   *hostfs.Host
	policy *policy.Policy
	dir    string
}

// whyNotFile returns why no preset of another grants a path, or "".
func (t taking) whyNotFile(r policy.FsRule, writes bool) string {
	if r.Beside != "" { // of a start, a preset of mcp-jail has it only where the directory is the server's alone
		return "it is all that lies beside " + show.Line(r.Beside)
	}
	written := r.Path
	if t.host.OS == "windows" {
		written = strings.ReplaceAll(written, `\`, "/")
	}
	if slices.Contains(strings.Split(written, "/"), "..") {
		return "where it leads depends on what lies around it"
	}
	person := granting.Person{System: t.host.OS, Home: t.host.Home, Dir: t.dir}
	if t.policy.Workspace != "" {
		person.Dir = person.Whole(t.policy.Workspace)
	}
	typed, err := person.Path(r.Path)
	if err != nil { // a form of Windows that no rule may have
		return show.Line(err.Error())
	}
	host := t.host.Slashed()
	named := host.Slash(person.Whole(typed))
	links := hostfs.NewLinkResolver(host)
	at, home := links.Canonical(named), links.Canonical(host.Home)
	sensitive, guarded := resolve.Sensitive(host, t.policy, at), resolve.Guarded(host, at, writes)
	switch {
	case hostfs.Within(host.OS, home, at), isTop(host.OS, at) && path.Clean(written) != ".":
		return "that is far more than a server needs"
	case sensitive != "":
		return "it is sensitive (" + show.Line(sensitive) + ")"
	case guarded != "":
		return "your programs run or trust it, or it is mcp-jail's own (" + show.Line(guarded) + ")"
	case writes && (policy.HasProtectedName(at) || policy.HasProtectedName(named)):
		return "your programs run or trust what has such a name"
	case writes && resolve.Store(host, at) != "":
		return "package managers install and run what is there"
	case isOfMachine(at), isSpecial(host, at):
		return "there are the sockets and devices of this machine"
	case writes && resolve.OfSystem(host.OS, at):
		return "it belongs to the system"
	}
	return ""
}

// isTop reports whether a path with slashes is the root of a system, as in runtime.GOOS, or lies directly in it, or
// in a drive.
func isTop(system, at string) bool {
	if system == "windows" {
		at = path.Dir(at)
	}
	return path.Dir(at) == "/"
}

// isOfMachine reports whether a path lies where a machine has its sockets and devices.
func isOfMachine(at string) bool {
	return slices.ContainsFunc([]string{"/run", "/var/run", "/dev"}, func(dir string) bool { return policy.Within(at, dir) })
}

// isSpecial reports whether a path is neither a file nor a directory.
func isSpecial(h *hostfs.Host, at string) bool {
	info, err := h.Lstat(at)
	return err == nil && !info.Mode.IsDir() && !info.Mode.IsRegular()
}
