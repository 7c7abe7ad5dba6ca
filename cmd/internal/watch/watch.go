// Package watch changes the policy of a session that is watched (run --learn), whose changes are thrown away
// (--discard), or that has the grants of a file (--access). mcp-jail learn starts such sessions.
package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Session says how a session is watched. The zero value changes nothing.
type Session struct{ *cmdline.WatchFlags }

const learnFlag = "--learn"

// Change gives a policy what a watched session has (run --learn), and takes away what a session has whose
// changes are thrown away (run --discard). It changes nothing if the session is neither.
//
// A session that learns is in a jail all the same. It reads nearly everything and reaches nothing, or it
// reaches hosts that the user named and reads what its policy grants: never both.
func (w Session) Change(p *policy.Policy) error {
	if w.WatchFlags == nil {
		return nil
	}
	if w.Access != "" {
		if err := w.replaceAccess(p); err != nil {
			return err
		}
	}
	if w.Learns() {
		if err := w.widen(p); err != nil {
			return err
		}
	}
	if w.Discards() {
		p.Undo, p.DiscardHome = policy.Undo{}, true
		p.Fs = slices.Clone(p.Fs)
		for i := range p.Fs {
			p.Fs[i].Discard = p.Fs[i].Rights()&policy.Write != 0
		}
	}
	return nil
}

// FromCommandLine returns the policy of a command after --. If the server of --access has a process for each call,
// so has the command: then FromCommandLine returns a configuration for it instead.
func (w Session) FromCommandLine(o config.CommandLineOptions) (*policy.Policy, *config.Config, error) {
	if w.WatchFlags != nil && w.Access != "" {
		from, name, err := w.access()
		if err != nil {
			return nil, nil, err
		}
		if s := from.Servers[name]; !s.IsStateful() {
			perCall, err := o.PerCall(s.Tools)
			return nil, perCall, err
		}
	}
	p, err := config.FromCommandLine(o)
	if err == nil {
		err = w.Change(p)
	}
	return p, nil, err
}

// access reads the file of --access, and returns it with the name of its server.
func (w Session) access() (*config.Config, string, error) {
	text, err := os.ReadFile(w.Access)
	if err != nil {
		return nil, "", exit.UsageErrorf("--access: %s", err)
	}
	from, err := config.Decode(text, w.Access)
	if err != nil {
		return nil, "", err
	}
	names := from.ServerNames()
	if len(names) != 1 {
		return nil, "", exit.UsageErrorf("--access %s: it must have one server, and has %d", w.Access, len(names))
	}
	return from, names[0], nil
}

// replaceAccess gives a policy the grants of another one, which is in a file.
func (w Session) replaceAccess(p *policy.Policy) error {
	from, name, err := w.access()
	if err != nil {
		return err
	}
	other, err := from.Policy(name, p.Tool)
	if err != nil {
		return err
	}
	Replace(p, other)
	return nil
}

// Replace gives a policy the grants of another one.
func Replace(p, other *policy.Policy) {
	p.Default, p.Fs, p.Net, p.Inbound, p.Env, p.Commands = other.Default, other.Fs, other.Net, other.Inbound, other.Env, other.Commands
	p.Sensitive = slices.Concat(p.Sensitive, other.Sensitive)
}

func (w Session) widen(p *policy.Policy) error {
	hosts := w.Hosts()
	if len(hosts) < len(w.Learn) && len(w.Learn) > 1 {
		return exit.UsageErrorf("%s none, policy and ask stand alone: it is given %d times", learnFlag, len(w.Learn))
	}
	p.Undo = policy.Undo{}
	if w.OpensReads() {
		p.OpensReads = true
		p.Net, p.Inbound, p.Commands = []policy.NetRule{}, nil, nil
		p.Fs = append(openReads(workspaceOf(p)), wholeWrites(p.Fs)...)
	}
	for _, given := range hosts {
		host, port, err := policy.ParseHostPort(given)
		if err != nil {
			return exit.UsageErrorf("%s: %s", show.Flag(learnFlag, given), err)
		}
		p.Net = append(slices.Clip(p.Net), policy.NetRule{Host: host, Port: port, Allow: true, Where: show.Flag(learnFlag, given)})
	}
	return nil
}

// openReads returns the rules of a session that learns: everything can be read and started but for sensitive
// paths, places of other users and places for a while; and what is written in the user's home directory and
// in a workspace among those places is written to a copy, unless the policy of the server grants it.
func openReads(workspace string) []policy.FsRule {
	rules := []policy.FsRule{{Path: "/", Read: true, Execute: true, Where: learnFlag}}
	copied := []string{"~"}
	for _, dir := range []string{"/home", "/root", "/tmp", "/var/tmp", "/run", "/boot"} {
		rules = append(rules, policy.FsRule{Path: dir, Optional: true, Where: learnFlag})
		if strings.HasPrefix(workspace, dir+"/") { // the policy of the server need not grant it
			copied = append(copied, workspace)
		}
	}
	for _, dir := range copied {
		rules = append(rules, policy.FsRule{Path: dir, Read: true, Execute: true, Create: true, Update: true, Delete: true, Discard: true, Where: learnFlag})
	}
	return rules
}

// wholeWrites returns rules in which those that let a server do a part of writing let it write to a copy in full:
// no mount could keep a part of a copy from being removed. A rule that lets it write and not read is left out, because
// no mount takes reading away and leaves writing: the copies of openReads take its place.
func wholeWrites(rules []policy.FsRule) []policy.FsRule {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r policy.FsRule) bool { return r.Rights()&policy.Write != 0 && !r.Read })
	for i := range rules {
		r := &rules[i]
		if part := r.Rights() & policy.Write; part != 0 && part != policy.Write {
			r.Create, r.Update, r.Delete, r.Discard = true, true, true, true
		}
	}
	return rules
}

// workspaceOf returns the workspace of a server as far as it is written in full, or where it starts.
func workspaceOf(p *policy.Policy) string {
	if p.Workspace != "" {
		return filepath.Clean(p.Workspace)
	}
	dir, _ := os.Getwd() // without one there is no workspace
	return dir
}

// Open returns lines that say what a watched session may do.
func (w Session) Open(server string) (lines []string) {
	if w.Learns() {
		open := "it has what its policy grants"
		if w.OpensReads() {
			open = "it reads all but sensitive paths, what it writes outside of its workspace and HOME is thrown away, and no host is reached: names and ports are noted"
		}
		if w.AsksHosts() {
			open += ", and you are asked about each host"
		}
		if hosts := w.Hosts(); len(hosts) > 0 {
			open += ", and reaches " + show.Line(strings.Join(hosts, ", "))
		}
		lines = append(lines, "server "+show.TOML(server)+" is watched to learn its policy ("+learnFlag+"): "+open)
	}
	if w.Discards() {
		lines = append(lines, "what server "+show.TOML(server)+" writes is thrown away at its end (--discard)")
	}
	return lines
}
