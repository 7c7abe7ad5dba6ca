package intercept

import (
	"context"
	"crypto/tls"
	"io"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// carry connects what is in conn with a proxy, which is reached by TLS. It observes one request when the handshake
// is done. An Interceptor without rules does this with every connection.
func (i *Interceptor) carry(conn egress.Conn, proxy egress.Target, dial func(context.Context) (egress.Conn, error)) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(i.ctx, helloTime)
	defer cancel()
	go func() {
		select {
		case <-proxy.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	raw, err := dial(ctx)
	var c *tls.Conn
	if err == nil {
		defer raw.Close()
		c = tls.Client(raw, &tls.Config{ServerName: proxy.Name, RootCAs: i.roots(), NextProtos: []string{"http/1.1"}})
		err = c.HandshakeContext(ctx)
	}
	if err != nil {
		proxy.Deny(policy.DeniedUnsupported, err.Error())
		return
	}
	proxy.Connected()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(c, conn)
		raw.SetReadDeadline(time.Now().Add(idleTime)) // one that does not end with the other must not stay for good
		c.CloseWrite()
	}()
	if _, err = io.Copy(conn, c); err != nil {
		conn.SetLinger(0) // the proxy did not end the connection in order
		return
	}
	conn.CloseWrite()
	<-ended
}
