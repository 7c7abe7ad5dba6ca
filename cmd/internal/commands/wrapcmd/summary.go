package wrapcmd

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/updates"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// state says where the server of an entry runs.
type state string

const (
	jailed    state = "jailed"
	granted   state = "granted"   // in a jail, with what the file of a project or plugin gives it
	unwrapped state = "unwrapped" // wrap puts it into a jail
	container state = "container"
	unclear   state = "unclear"
	windows   state = "windows"   // of a client on Windows, without a jail
	open      state = "open"      // it starts without a jail, and wrap leaves it
	elsewhere state = "elsewhere" // on another machine
	local     state = "local"     // at a URL of this machine
	off       state = "off"
	none      state = "none" // it starts no program
)

// stateOf returns the state of an entry. One of a client on Windows has that, wherever wrap would put it.
func stateOf(f *wrapping.File, e *index.Entry) state {
	s := stateHere(e.Entry, e.Verdict())
	if s == jailed && e.Brings() != nil {
		return granted
	}
	if wrapping.OnWindows(f) && (s == unwrapped || s == open) {
		return windows
	}
	return s
}

func stateHere(e wrapping.Entry, v wrapping.Verdict) state {
	var away *runline.ElsewhereError
	_, err := runline.Parse(e.Argv())
	switch errors.As(err, &away); {
	case v.Jailed:
		return jailed
	case v.Unclear:
		return unclear
	case e.Left == clients.Disabled:
		return off
	case e.Left == clients.Remote && !v.Open && isLoopback(e.URL):
		return local
	case e.Left == clients.Elsewhere, e.Left == clients.Remote && !v.Open, away != nil && away.Where == runline.OnMachine:
		return elsewhere
	case away != nil && away.Where == runline.InContainer:
		return container
	case v.Why == "":
		return unwrapped
	case v.Open:
		return open
	}
	return none
}

// isLoopback reports whether a URL leads to this machine, on which something else has started the server.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || addr.IsUnspecified()) || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// summary counts the servers of a machine. Servers is the sum of the other counts.
type summary struct {
	Servers   int            `json:"servers"`
	Jailed    int            `json:"jailed"`
	Granted   int            `json:"granted"`
	Not       int            `json:"not"`
	Elsewhere int            `json:"elsewhere"`
	Off       int            `json:"off"`
	Reasons   map[string]int `json:"reasons"` // of Not
}

// reasons are why a server is not in a jail, in the order in which they are said.
var reasons = []struct{ key, text string }{
	{string(unwrapped), "to wrap"}, {string(windows), "on the Windows side"}, {string(container), "in a container"}, {string(unclear), "unclear"},
	{string(open), "left as noted"}, {string(local), "at a URL of this machine"}, {"code", "of an extension's code"},
}

func summaryOf(status []fileStatus, unread []unreadFile) summary {
	s := summary{Reasons: map[string]int{}}
	for _, f := range status {
		for _, one := range f.Servers {
			switch one.State {
			case jailed:
				s.Jailed++
			case granted:
				s.Granted++
			case elsewhere:
				s.Elsewhere++
			case off:
				s.Off++
			case none:
			default:
				s.Reasons[string(one.State)]++
			}
		}
	}
	for _, f := range unread {
		if f.Starts {
			s.Reasons["code"]++
		}
	}
	for _, n := range s.Reasons {
		s.Not += n
	}
	s.Servers = s.Jailed + s.Granted + s.Not + s.Elsewhere + s.Off
	return s
}

// text returns the counts as a line; "" without a server.
func (s summary) text() string {
	if s.Servers == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d jailed", s.Jailed), fmt.Sprintf("%d not", s.Not)}
	var why []string
	for _, r := range reasons {
		if n := s.Reasons[r.key]; n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, r.text))
		}
	}
	if why != nil {
		parts[1] += " (" + strings.Join(why, ", ") + ")"
	}
	if s.Granted > 0 {
		parts = slices.Insert(parts, 1, fmt.Sprintf("%d with what a project or plugin grants it", s.Granted))
	}
	if s.Elsewhere > 0 {
		parts = append(parts, runElsewhere(s.Elsewhere))
	}
	if s.Off > 0 {
		parts = append(parts, fmt.Sprintf("%d switched off", s.Off))
	}
	return cli.Plural(s.Servers, "server") + ": " + strings.Join(parts, ", ")
}

func runElsewhere(n int) string {
	if n == 1 {
		return "1 runs elsewhere"
	}
	return fmt.Sprintf("%d run elsewhere", n)
}

// noteUpdates notes of which plugins wrap had changed an older file.
func noteUpdates(status []fileStatus, dir string) {
	wrapped, err := updates.Load(dir)
	for i, f := range status {
		known := func(p updates.Plugin) bool { return p.Client == f.Client && p.ID == f.Plugin }
		if err == nil && f.Plugin != "" && slices.ContainsFunc(wrapped, known) {
			status[i].Updated = slices.ContainsFunc(f.Servers, func(s serverStatus) bool { return s.State == unwrapped || s.State == open })
		}
	}
}

// printNamed names the servers that no file has, so that wrap cannot put them into a jail.
func printNamed(c terminal.Console, host hostfs.Host, sel wrapping.Selection) {
	printUnread(c, slices.DeleteFunc(unreadOf(host, sel), func(f unreadFile) bool { return !f.Starts }))
}

// refresh notes the files of plugins that are wrapped, and not as wrap wrote them.
func (w *wrapCmd) refresh(host hostfs.Host, files []*wrapping.File) (err error) {
	for _, f := range files {
		if !w.dryRun {
			err = errors.Join(err, wrapping.Refresh(f, host.StateDir))
		}
	}
	return err
}
