//go:build darwin || linux

package mac

import (
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// names replaces what the table has in braces.
type names map[string]string

func (n names) in(s string) string {
	for name, value := range n {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

func (n names) all(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = n.in(s)
	}
	return out
}

// longPath is how long the path of a file below {long} is.
const longPath = 1000

// treeNames returns the names for a tree in the directory t, whose sockets are in the directory s.
func treeNames(t, s string) names {
	n := names{"t": t, "s": s, "alias": s, "nfc": t + "/nfc-\u00e4\u00f6", "nfd": t + "/nfd-a\u0308o\u0308", "odd": t + `/o"dd\ 'x'`}
	if rest, ok := strings.CutPrefix(s, "/private/tmp/"); ok {
		n["alias"] = "/tmp/" + rest
	}
	long := t
	for len(long) < longPath-20 {
		long += "/" + strings.Repeat("l", min(200, max(1, longPath-len(long)-8)))
	}
	n["long"] = long
	return n
}

const content = "what the self-test of mcp-jail reads and changes\n"

// build makes the files and sockets of a tree.
func build(h *hosts, n names) error {
	for _, o := range objects {
		o = n.in(o)
		var err error
		switch at, target, isLink := strings.Cut(o, ">"); {
		case isLink:
			err = os.Symlink(target, at)
		case strings.HasSuffix(o, "/"):
			err = os.MkdirAll(o, 0o700)
		case strings.HasSuffix(o, "!"):
			err = os.WriteFile(strings.TrimSuffix(o, "!"), []byte("#!/bin/sh\nexit 0\n"), 0o700)
		default:
			err = os.WriteFile(o, []byte(content), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return h.sockets(n)
}

// profile returns the profile that the jails have.
func (n names) profile() *policy.Profile {
	p := &policy.Profile{
		Server: "self-test", Program: "/usr/bin/true", Argv: []string{"true"}, Dir: n.in("{t}/w"), Workspace: n.in("{t}/w"),
		Home: n.in("{t}/home"), HomePrivate: true, Unprotected: n.all(unprotected), Limits: policy.DefaultLimits,
	}
	for _, dir := range systemDirs[runtime.GOOS] {
		p.Entries = append(p.Entries, policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline})
	}
	for _, line := range entries {
		at, what, _ := strings.Cut(line, "=")
		letters, more, _ := strings.Cut(what, ":")
		e := policy.Entry{Path: n.in(at), Kind: policy.KindDir, Origin: policy.OriginRule}
		for _, c := range letters {
			e.Rights |= map[rune]policy.Rights{'r': policy.Read, 'c': policy.Create, 'u': policy.Update, 'd': policy.Delete, 'x': policy.Execute}[c]
		}
		switch {
		case more == "file":
			e.Kind, e.Origin = policy.KindFile, policy.OriginSensitive
		case more == "protected":
			e.Origin = policy.OriginProtected
		case more == "home":
			e.Origin = policy.OriginHome
		case e.Rights == 0:
			e.Origin = policy.OriginSensitive
		}
		e.Named, e.Rule = e.Path, "the self-test"
		p.Entries = append(p.Entries, e)
	}
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return p
}

// hosts are listeners of the test's own. They stand for hosts, for the proxy of a session and for
// other programs.
type hosts struct {
	closers []interface{ Close() error }
	names   names
	proxy   int
}

func (h *hosts) close() {
	for _, c := range h.closers {
		c.Close()
	}
}

// listen opens all listeners. Where one cannot be opened, the control of its probes fails.
func listen() *hosts {
	h := &hosts{names: names{"launcher": strconv.Itoa(os.Getpid()), "own": ownAddress()}}
	h.pair("tcp4", "tcp6")
	h.proxy = h.pair("proxy4", "proxy6")
	if l, err := net.ListenPacket("udp4", "127.0.0.1:0"); err == nil {
		h.closers = append(h.closers, l)
		h.names["udp4"] = l.LocalAddr().String()
	}
	return h
}

// pair listens on the same port of 127.0.0.1 and of ::1, which it returns.
func (h *hosts) pair(name4, name6 string) (port int) {
	for _, end := range [][2]string{{name4, "127.0.0.1"}, {name6, "::1"}} {
		if l, err := net.Listen("tcp", net.JoinHostPort(end[1], strconv.Itoa(port))); err == nil {
			h.closers = append(h.closers, l)
			h.names[end[0]] = l.Addr().String()
			port = l.Addr().(*net.TCPAddr).Port
		}
	}
	return port
}

// sockets listens in the directories of a tree.
func (h *hosts) sockets(n names) error {
	var all []error
	for _, at := range []string{"{s}/u/socket", "{s}/t/socket"} {
		l, err := net.Listen("unix", n.in(at))
		if err == nil {
			h.closers = append(h.closers, l)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
