// Package egresstest builds network namespaces that stand in for the Internet, for tests and for
// the benchmark. So the same hosts exist on every machine.
//
// The caller chooses the names ([Certify], [ServeNames]) and starts the services; HTTPS is
// [net/http.ServeTLS] with the files of Certify. The hosts are in a namespace of their own, joined to
// the host's by a pair of interfaces. The end in that namespace is called "inside" ([Join]). An
// address that the host answers itself would be refused as its own.
//
// [Start] starts a serving process, whose main function is [Run]. The benchmark does not use
// these two. Its jails' supervisor is a copy of the benchmark's binary, which therefore avoids
// crypto/x509 to stay as small as mcp-jail.
package egresstest

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// Resolver is the address of the DNS server. It is one of the addresses that Join makes local.
const Resolver = "198.51.100.53"

// Join waits for the interface "inside" and makes 198.51.100.0/25 local to this namespace.
func Join() (err error) {
	for range 500 {
		if _, err = net.InterfaceByName("inside"); err == nil {
			return IP("link set lo up", "addr add 192.0.2.2/24 dev inside", "link set inside up", "route add local 198.51.100.0/25 dev lo")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// IP runs the program ip (iproute2) once for each command.
func IP(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}

// Serve accepts connections, calls handle for each and closes it afterwards.
func Serve(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			handle(c)
		}()
	}
}
