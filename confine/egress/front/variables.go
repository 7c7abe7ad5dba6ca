package front

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxListenAttempts bounds the search for a port that is free for both families.
const maxListenAttempts = 100

// Listen opens the listeners for the proxy: on 127.0.0.1 and ::1 with the same port, or
// on 127.0.0.1 alone if this machine has no IPv6.
func Listen() (listeners []*net.TCPListener, port int, err error) {
	for range maxListenAttempts {
		v4, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, 0, fmt.Errorf("the session's proxy: %w", err)
		}
		port := v4.Addr().(*net.TCPAddr).Port
		v6, err := net.ListenTCP("tcp6", &net.TCPAddr{IP: net.IPv6loopback, Port: port})
		switch {
		case err == nil:
			return []*net.TCPListener{v4, v6}, port, nil
		case isWithoutIPv6(err):
			return []*net.TCPListener{v4}, port, nil
		}
		v4.Close()
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, 0, fmt.Errorf("the session's proxy: %w", err)
		}
	}
	return nil, 0, fmt.Errorf("the session's proxy: of %d ports none was free on both 127.0.0.1 and ::1", maxListenAttempts)
}

// isWithoutIPv6 reports whether an error means that no program of this machine can have ::1.
func isWithoutIPv6(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EPROTONOSUPPORT)
}

// Variables returns the variables that lead a program, and those that it starts, to the
// session's proxy. program is the path of the program.
//
// ALL_PROXY has no SOCKS URL, though other protocols could use one. Python's httpx reads all of these
// variables when it makes a client, and fails if one has a scheme for which it lacks a package. For
// connections that are not HTTP, programs also use CONNECT.
func Variables(port int, password, program string) []policy.Variable {
	const host = "127.0.0.1"
	proxy := "http://" + user + ":" + password + "@" + net.JoinHostPort(host, strconv.Itoa(port))
	var vars []policy.Variable
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy"} {
		vars = append(vars, policy.Variable{Name: name, Value: proxy, Secret: true})
	}
	// Nothing goes past the proxy: the jail lets nothing else through, not even to localhost.
	for _, name := range []string{"NO_PROXY", "no_proxy", "npm_config_noproxy"} {
		vars = append(vars, policy.Variable{Name: name})
	}
	vars = append(vars, policy.Variable{Name: "NODE_USE_ENV_PROXY", Value: "1"})
	// Java reads none of these, and takes the password of a proxy from no setting: a program must have an
	// Authenticator. Without one, it hears from the proxy what is missing. To Java, 127.0.0.1 on an IPv6
	// socket is ::ffff:127.0.0.1, which Seatbelt may not take for localhost (not yet run on a Mac).
	if name := path.Base(program); name == "java" || strings.HasPrefix(name, "java.") {
		vars = append(vars, policy.Variable{Name: "JAVA_TOOL_OPTIONS", Value: fmt.Sprintf(
			"-Djava.net.preferIPv4Stack=true -Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]d -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]d -Dhttp.nonProxyHosts= -Djdk.http.auth.tunneling.disabledSchemes=",
			host, port)})
	}
	return vars
}
