// Package tlsclient is the part of mcp-jail-tls that carries one connection to a proxy over TLS.
// Package tlsworker starts it for an https:// proxy, once for each connection, so that mcp-jail
// itself needs no TLS.
package tlsclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
)

// handshakeTime bounds the handshake.
const handshakeTime = 30 * time.Second

// Run connects the descriptors that tlsworker.StartTLS names: it shakes hands with the proxy,
// reports the result, and copies in both directions until both have ended or the launcher has.
func Run(serverName string) error {
	proxy, errProxy := connection(tlsworker.ProxyFD)
	inside, errInside := connection(tlsworker.InsideFD)
	status := os.NewFile(tlsworker.StatusFD, "launcher")
	if err := errors.Join(errProxy, errInside); err != nil {
		return err
	}
	given, err := tlsworker.AwaitConfinement(status)
	go func() {
		io.Copy(io.Discard, status) // it sends nothing more, and ends with the launcher
		os.Exit(1)
	}()
	var c *tls.Conn
	if err == nil {
		c, err = handshake(proxy, serverName, given)
	}
	if err != nil {
		status.WriteString(tlsworker.Failed + err.Error() + "\n")
		return err
	}
	if _, err := status.WriteString(tlsworker.Connected + "\n"); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(c, inside)
		c.CloseWrite()
		close(ended)
	}()
	_, err = io.Copy(inside, c)
	if err != nil {
		inside.SetLinger(0) // the proxy did not end the connection in order
		inside.Close()
		return err
	}
	inside.CloseWrite()
	<-ended
	return nil
}

func connection(fd int) (*net.TCPConn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	if f == nil {
		return nil, errors.New("mcp-jail starts mcp-jail-tls; it cannot be started by hand")
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.New("not a TCP connection")
	}
	return t, nil
}

// handshake verifies the proxy by given (PEM), or by the host's roots where the process can read them.
func handshake(proxy *net.TCPConn, serverName string, given []byte) (*tls.Conn, error) {
	roots := x509.NewCertPool()
	if tlsworker.GivenRootsOnly {
		roots.AppendCertsFromPEM(given)
	} else {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil { // with SSL_CERT_FILE and SSL_CERT_DIR, before no file can be opened
			return nil, err
		}
	}
	if err := tlsworker.EnterSandbox(); err != nil {
		return nil, err
	}
	c := tls.Client(proxy, &tls.Config{ServerName: serverName, RootCAs: roots, NextProtos: []string{"http/1.1"}})
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	return c, c.HandshakeContext(ctx)
}
