package tlsworker

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// version is the version of the protocol. Programs of different versions refuse to work together.
// It changes with the encoding of any message, which TestMessageEncoding compares.
const version = 11

// maxMessage bounds a packet. The kernel's limit for a socket is a little higher.
const maxMessage = 160 << 10

// maxRules bounds the first message where it carries the host's roots, and a socket any length.
const maxRules = 32 << 20

// message is one packet. Exactly one field is set, but Leaks comes with Secrets.
type message struct {
	// From the launcher to mcp-jail-tls:
	Rules    *rulesMessage     `json:"rules,omitempty"`
	Secrets  map[string][]byte `json:"secrets,omitempty"`  // not empty: {"":…} if there are none
	Leaks    *leaksMessage     `json:"leaks,omitempty"`    // nil: nothing is looked for
	Serve    *serveMessage     `json:"serve,omitempty"`    // with a descriptor
	Upstream *upstreamMessage  `json:"upstream,omitempty"` // with a descriptor or an error
	End      uint64            `json:"end,omitempty"`      // a connection that must end

	// From mcp-jail-tls to the launcher:
	Hello  *helloMessage  `json:"hello,omitempty"`
	Ready  bool           `json:"ready,omitempty"`
	Failed string         `json:"failed,omitempty"`
	Dial   *dialMessage   `json:"dial,omitempty"`
	Denied *deniedMessage `json:"denied,omitempty"`
	Leak   *leakMessage   `json:"leak,omitempty"`

	Connected uint64 `json:"connected,omitempty"` // a connection to a proxy, whose TLS holds
	Done      uint64 `json:"done,omitempty"`
	Took      bool   `json:"took,omitempty"` // the connection of the last message
}

// rulesMessage is the first message of the launcher.
type rulesMessage struct {
	Version     int              `json:"version"`
	Rules       []policy.NetRule `json:"rules"`
	Roots       []byte           `json:"roots,omitempty"` // PEM, in addition to the host's
	Connections int              `json:"connections"`     // at once
	// Check is what the process must be refused, where another program confines it. A connection
	// comes with it, which must work.
	Check *checkMessage `json:"check,omitempty"`
}

// checkMessage names what works for the launcher.
type checkMessage struct {
	Dir     string `json:"dir"`     // a directory that it can open
	Port    int    `json:"port"`    // of 127.0.0.1, on which it listens
	PID     int    `json:"pid"`     // its own
	Program string `json:"program"` // an executable file
}

// helloMessage answers a rulesMessage with the certificate of the authority, PEM.
type helloMessage struct {
	Version int    `json:"version"`
	CA      []byte `json:"ca"`
}

// serveMessage passes a connection of the jail. Later messages refer to it by ID.
type serveMessage struct {
	ID   uint64         `json:"id"`
	Head []byte         `json:"head"`
	Name string         `json:"name"`
	Port int            `json:"port"`
	TLS  bool           `json:"tls"`
	Addr netip.AddrPort `json:"addr"`
}

// dialMessage asks for an upstream connection for the jail's connection ID.
type dialMessage struct {
	ID   uint64 `json:"id"`
	Dial uint64 `json:"dial"` // numbers this request
}

// upstreamMessage answers a dialMessage. The connection comes with it, unless Error is set.
type upstreamMessage struct {
	Dial  uint64 `json:"dial"`
	Error string `json:"error,omitempty"`
}

// deniedMessage records a refusal on the jail's connection ID.
type deniedMessage struct {
	ID     uint64              `json:"id"`
	Why    policy.DenialReason `json:"why"`
	Detail string              `json:"detail"`
}

// leaksMessage carries egress.Leaks. Values need not be valid UTF-8.
type leaksMessage struct {
	Names  []string `json:"names"`
	Values [][]byte `json:"values"`
	Tokens bool     `json:"tokens,omitempty"`
	Block  bool     `json:"block,omitempty"`
}

func newLeaksMessage(l egress.Leaks) *leaksMessage {
	if l.IsZero() {
		return nil
	}
	m := &leaksMessage{Tokens: l.Tokens, Block: l.Block}
	for _, s := range l.Secrets {
		m.Names, m.Values = append(m.Names, s.Name), append(m.Values, []byte(s.Value))
	}
	return m
}

func (m *leaksMessage) leaks() egress.Leaks {
	l := egress.Leaks{Tokens: m.Tokens, Block: m.Block}
	for i := range min(len(m.Names), len(m.Values)) {
		l.Secrets = append(l.Secrets, leak.Secret{Name: m.Names[i], Value: string(m.Values[i])})
	}
	return l
}

// leakMessage tells of a secret in a request on the jail's connection ID.
type leakMessage struct {
	ID    uint64       `json:"id"`
	Place egress.Place `json:"place"`
	Name  string       `json:"name"`
	Form  leak.Form    `json:"form"`
}

func (m message) encode(most int) ([]byte, error) {
	b, err := json.Marshal(m)
	if err == nil && len(b) > most {
		err = fmt.Errorf("a message of %d bytes is too long for one packet (%d)", len(b), most)
	}
	return b, err
}

func clip(s string) string { return s[:min(len(s), 2000)] }
