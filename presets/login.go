package presets

import (
	"crypto/md5" // of the server, which names its files so
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A Login is what a preset knows of a server that logs in through the browser, and keeps what it
// gets. A server can name its logins by the MD5 of some of its arguments.
type login struct {
	// Of are the arguments of which the name is made, joined with "|". A line with a flag of Unless
	// gets another name, which is not known.
	Of     []string `toml:"of"`
	Unless []string `toml:"unless"`
	// PortFrom and PortRange say which port the server takes if its line names none: the first four
	// digits of the name, modulo PortRange, from PortFrom on.
	PortFrom  int    `toml:"port_from"`
	PortRange int    `toml:"port_range"`
	About     string `toml:"about"` // what wrap says of the login
}

// loginOf returns the name of an entry's logins, or "".
func (p *Preset) loginOf(e Entry) string {
	if len(p.Login.Of) == 0 {
		return ""
	}
	given := p.arguments(e.Args)
	var parts []string
	for _, label := range p.Login.Of {
		if i := slices.IndexFunc(given, func(g givenArgument) bool { return g.argument.label() == label }); i >= 0 {
			parts = append(parts, given[i].word)
		}
	}
	isOther := func(word string) bool {
		flag, _, _ := strings.Cut(word, "=")
		return slices.Contains(p.Login.Unless, flag)
	}
	if len(parts) == 0 || slices.ContainsFunc(e.Args, isOther) || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(part, "${") }) {
		return ""
	}
	sum := md5.Sum([]byte(strings.Join(parts, "|")))
	return hex.EncodeToString(sum[:])
}

// inbound adds the port at which the server waits for the browser: the one that its line names, or else
// its own choice. It adds none that leads to a granted host.
func (m *maker) inbound(given []givenArgument) {
	port, label := 0, "its login"
	for _, g := range given {
		if n, err := strconv.Atoi(g.word); g.argument.Kind == inbound && err == nil && n > 0 && n < 1<<16 {
			port, label = n, g.argument.label()
		}
	}
	login := m.preset.Login
	if name := m.preset.loginOf(m.entry); port == 0 && login.PortRange > 0 && name != "" {
		n, _ := strconv.ParseUint(name[:4], 16, 16)
		port = login.PortFrom + int(n)%login.PortRange
	}
	if port == 0 || slices.ContainsFunc(m.net(), func(r policy.NetRule) bool { return r.Allow && slices.Contains(r.Ports(), port) }) {
		return
	}
	m.access().Inbound = append(m.access().Inbound, policy.InboundRule{Port: port, Preset: true, Where: m.place(label)})
}

// Ways returns how the browser reaches a server, in sentences, or nil for a server without a login.
func (p *Preset) Ways(server *applied) (ways []string) {
	if a := server.Server.Access; a != nil {
		for _, r := range a.Inbound {
			ways = append(ways, fmt.Sprintf("a login through the browser reaches the server at port %d of this machine", r.Port))
		}
	}
	if p.Login.About != "" && ways != nil {
		ways = append(ways, p.Login.About)
	}
	return ways
}
