package egress

import (
	"io"
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxHosts is how many hosts Traffic tells apart. All further ones are counted as policy.DenialOthers.
const maxHosts = 64

// Traffic counts what the jails of one session exchange with granted hosts. nil counts nothing.
type Traffic struct {
	mu    sync.Mutex
	hosts []policy.HostTraffic
}

// Hosts returns the hosts in the order of their first connections.
func (t *Traffic) Hosts() []policy.HostTraffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hosts)
}

// count counts a connection, and what passes through the one that it returns.
func (t *Traffic) count(c Conn, host string, port int) Conn {
	if t == nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	find := func() int {
		return slices.IndexFunc(t.hosts, func(h policy.HostTraffic) bool { return h.Host == host && h.Port == port })
	}
	if find() < 0 && len(t.hosts) >= maxHosts {
		host, port = policy.DenialOthers, 0
	}
	if find() < 0 {
		t.hosts = append(t.hosts, policy.HostTraffic{Host: host, Port: port})
	}
	i := find()
	t.hosts[i].Connections++
	return &countedConn{Conn: c, traffic: t, host: i}
}

// countedConn is a connection to a host. The kernel still copies from it and to it where it can.
type countedConn struct {
	Conn
	traffic *Traffic
	host    int
}

func (c *countedConn) count(sent, received int64) {
	c.traffic.mu.Lock()
	defer c.traffic.mu.Unlock()
	h := &c.traffic.hosts[c.host]
	h.Sent, h.Received = h.Sent+sent, h.Received+received
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.count(0, int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.count(int64(n), 0)
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.Conn, r)
	c.count(n, 0)
	return n, err
}

// WriteTo implements io.WriterTo.
func (c *countedConn) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(w, c.Conn)
	c.count(0, n)
	return n, err
}
