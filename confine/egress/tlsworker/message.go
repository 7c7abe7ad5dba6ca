package tlsworker

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// version is that of the protocol: two programs of different builds do not work
// together by luck.
const version = 3

// maxMessage bounds a packet; the kernel's own bound for a socket is a little higher.
const maxMessage = 160 << 10

// message is one packet. One of its parts is there.
type message struct {
	Rules    *rulesMessage     `json:"rules,omitempty"`
	Secrets  map[string][]byte `json:"secrets,omitempty"`  // there even if empty, as {"":…}
	Serve    *serveMessage     `json:"serve,omitempty"`    // with a descriptor
	Upstream *upstreamMessage  `json:"upstream,omitempty"` // with a descriptor, or an error
	End      uint64            `json:"end,omitempty"`      // a connection that is over

	Hello  *helloMessage  `json:"hello,omitempty"`
	Ready  bool           `json:"ready,omitempty"`
	Failed string         `json:"failed,omitempty"`
	Dial   *dialMessage   `json:"dial,omitempty"`
	Denied *deniedMessage `json:"denied,omitempty"`
	Sent   *sentMessage   `json:"sent,omitempty"`
	Done   uint64         `json:"done,omitempty"`
}

type rulesMessage struct {
	Version     int              `json:"version"`
	Rules       []policy.NetRule `json:"rules"`
	Roots       []byte           `json:"roots,omitempty"` // PEM, besides the host's
	Connections int              `json:"connections"`     // at once
}

type helloMessage struct {
	Version int    `json:"version"`
	CA      []byte `json:"ca"`
}

// serveMessage: a connection of the jail. Its ID stands for it from here on.
type serveMessage struct {
	ID         uint64         `json:"id"`
	Head       []byte         `json:"head"`
	Name       string         `json:"name"`
	Port       int            `json:"port"`
	TLS        bool           `json:"tls"`
	Addr       netip.AddrPort `json:"addr"`
	ReportStep int64          `json:"step,omitempty"`
	MaxBytes   int64          `json:"most,omitempty"`
}

// dialMessage asks for a connection to where that of the jail was meant to go.
type dialMessage struct {
	ID   uint64 `json:"id"`
	Dial uint64 `json:"dial"` // the process's number for this one
}

type upstreamMessage struct {
	Dial  uint64 `json:"dial"`
	Error string `json:"error,omitempty"`
}

type deniedMessage struct {
	ID     uint64        `json:"id"`
	Why    egress.Reason `json:"why"`
	Detail string        `json:"detail"`
}

type sentMessage struct {
	ID    uint64 `json:"id"`
	Bytes int64  `json:"bytes"`
}

func (m message) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err == nil && len(b) > maxMessage {
		err = fmt.Errorf("a message of %d bytes is too long for one packet (%d)", len(b), maxMessage)
	}
	return b, err
}

// clip bounds a text that came from a peer.
func clip(s string) string { return s[:min(len(s), 2000)] }
