// Package egresstest is what network namespaces that stand for the Internet are made
// of, for tests and for the benchmark, so that what is granted and what is refused is
// there, and the same, on every machine.
//
// Who makes such a namespace says which names it has ([Certify], [ServeNames]) and what
// serves there: HTTPS is [net/http.ServeTLS], with the files of Certify. There are two
// forms:
//
//	apart    a namespace of its own, joined to the host's by a pair of interfaces,
//	         of which the end there is called "inside" ([Join])
//	within   the host's namespace, with addresses that only a route makes its own ([IP])
//
// [Start] has a process serve, of which [Run] is the main function. The benchmark does
// those two by itself: its jails' init is a copy of it, which is to stay as small as
// mcp-jail's, and crypto/x509 would not let it.
package egresstest

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// Resolver is the address of the resolver, one of those that Join takes.
const Resolver = "198.51.100.53"

// Join waits for the end of the pair that the host's side makes, and makes what the
// host sends to 198.51.100.0/25 arrive here.
func Join() (err error) {
	for range 500 {
		if _, err = net.InterfaceByName("inside"); err == nil {
			return IP("link set lo up", "addr add 192.0.2.2/24 dev inside", "link set inside up", "route add local 198.51.100.0/25 dev lo")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// IP runs the program ip (iproute2) with each of some arguments.
func IP(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}

// Serve has a function handle every connection, which ends with it.
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
