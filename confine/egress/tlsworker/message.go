package tlsworker

import (
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// version is the version of the protocol. Programs of different versions refuse to work together.
// It changes with the encoding of any message, which TestMessageEncoding compares.
const version = 12

// message is what the launcher and the process say to each other. Exactly one field is set.
type message struct {
	// From the launcher to mcp-jail-tls:
	Setup  *setupMessage  `json:"setup,omitempty"`
	Serve  *serveMessage  `json:"serve,omitempty"`
	Answer *answerMessage `json:"answer,omitempty"`

	// From mcp-jail-tls to the launcher:
	Hello     *helloMessage  `json:"hello,omitempty"`
	Failed    string         `json:"failed,omitempty"`
	Dial      *dialMessage   `json:"dial,omitempty"`
	Denied    *deniedMessage `json:"denied,omitempty"`
	Leak      *leakMessage   `json:"leak,omitempty"`
	Connected uint32         `json:"connected,omitempty"` // a connection to a proxy, whose TLS holds
}

// setupMessage is the first message of the launcher. Values need not be valid UTF-8.
type setupMessage struct {
	Version int               `json:"version"`
	Rules   []policy.NetRule  `json:"rules"`
	Secrets map[string][]byte `json:"secrets,omitempty"`
	Roots   []byte            `json:"roots"` // PEM, of the authorities that verify upstreams

	LeakNames  []string `json:"leak_names,omitempty"`
	LeakValues [][]byte `json:"leak_values,omitempty"`
	LeakTokens bool     `json:"leak_tokens,omitempty"`
	LeakBlock  bool     `json:"leak_block,omitempty"`
}

func newSetupMessage(s Setup) *setupMessage {
	m := &setupMessage{Version: version, Rules: s.Rules, Roots: s.Roots, Secrets: map[string][]byte{}, LeakTokens: s.Leaks.Tokens, LeakBlock: s.Leaks.Block}
	for name, value := range s.Secrets {
		m.Secrets[name] = []byte(value)
	}
	for _, s := range s.Leaks.Secrets {
		m.LeakNames, m.LeakValues = append(m.LeakNames, s.Name), append(m.LeakValues, []byte(s.Value))
	}
	return m
}

func (m *setupMessage) setup() Setup {
	s := Setup{Rules: m.Rules, Roots: m.Roots, Secrets: map[string]string{}, Leaks: egress.Leaks{Tokens: m.LeakTokens, Block: m.LeakBlock}}
	for name, value := range m.Secrets {
		s.Secrets[name] = string(value)
	}
	for i := range min(len(m.LeakNames), len(m.LeakValues)) {
		s.Leaks.Secrets = append(s.Leaks.Secrets, leak.Secret{Name: m.LeakNames[i], Value: string(m.LeakValues[i])})
	}
	return s
}

// helloMessage answers a setupMessage with the certificate of the authority, PEM. From then on the process serves.
type helloMessage struct {
	Version int    `json:"version"`
	CA      []byte `json:"ca"`
}

// serveMessage begins a connection of the jail.
type serveMessage struct {
	ID   uint32         `json:"id"`
	Head []byte         `json:"head"`
	Name string         `json:"name"`
	Port int            `json:"port"`
	TLS  bool           `json:"tls"`
	Addr netip.AddrPort `json:"addr"`
}

// dialMessage asks for an upstream connection, with the number ID, for a connection of the jail.
type dialMessage struct {
	ID  uint32 `json:"id"`
	For uint32 `json:"for"`
}

// deniedMessage records a refusal on a connection of the jail.
type deniedMessage struct {
	ID     uint32              `json:"id"`
	For    uint32              `json:"for"`
	Why    policy.DenialReason `json:"why"`
	Detail string              `json:"detail"`
}

// leakMessage tells of a secret in a request on a connection of the jail.
type leakMessage struct {
	ID    uint32       `json:"id"`
	For   uint32       `json:"for"`
	Place egress.Place `json:"place"`
	Name  string       `json:"name"`
	Form  leak.Form    `json:"form"`
}

// answerMessage answers the message with the same ID: it is connected or recorded, or Error tells why not.
type answerMessage struct {
	ID    uint32 `json:"id"`
	Error string `json:"error,omitempty"`
}

func clip(s string) string { return s[:min(len(s), 2000)] }
