package egress

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxHosts is how many hosts Traffic tells apart. All further ones are counted as policy.DenialOthers.
const maxHosts = 64

// Traffic counts what the jails of one session exchange with granted hosts. nil counts nothing.
type Traffic struct {
	mu    sync.Mutex
	hosts []*hostTraffic
}

type hostTraffic struct {
	host           string
	port           int
	connections    atomic.Int64
	sent, received atomic.Int64
}

// Hosts returns the hosts in the order of their first connections.
func (t *Traffic) Hosts() (hosts []policy.HostTraffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.hosts {
		hosts = append(hosts, policy.HostTraffic{Host: h.host, Port: h.port, Connections: h.connections.Load(), Sent: h.sent.Load(), Received: h.received.Load()})
	}
	return hosts
}

// count counts a connection, and what passes through the one that it returns.
func (t *Traffic) count(c Conn, host string, port int) Conn {
	if t == nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	find := func() int {
		return slices.IndexFunc(t.hosts, func(h *hostTraffic) bool { return h.host == host && h.port == port })
	}
	i := find()
	if i < 0 && len(t.hosts) >= maxHosts {
		host, port = policy.DenialOthers, 0
		i = find()
	}
	if i < 0 {
		i, t.hosts = len(t.hosts), append(t.hosts, &hostTraffic{host: host, port: port})
	}
	t.hosts[i].connections.Add(1)
	return &countedConn{c, t.hosts[i]}
}

// countedConn is a connection to a host. Copies from it and to it are still made by the kernel where they can be.
type countedConn struct {
	Conn
	host *hostTraffic
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.host.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.host.sent.Add(int64(n))
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.Conn, r)
	c.host.sent.Add(n)
	return n, err
}

// WriteTo implements io.WriterTo.
func (c *countedConn) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(w, c.Conn)
	c.host.received.Add(n)
	return n, err
}
