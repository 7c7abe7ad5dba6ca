package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience bounds every wait for another process.
const patience = 3 * time.Second

func networkThefts() []theft {
	host := param{name: "host", about: "name or address; 127.0.0.1 unless given"}
	port := param{name: "port", about: "number", required: true, kind: number}
	return []theft{
		{
			name: "connect", about: "Connect over TCP", params: []param{host, port},
			try: func(ctx context.Context, a arguments) (string, error) {
				return dial(ctx, "tcp", address(a))
			},
			sweep: func(b bounty) []arguments {
				targets := []arguments{{"host": "127.0.0.1", "port": 22}, {"host": "::1", "port": 22}}
				if b.port != 0 {
					targets = append(targets, arguments{"host": "127.0.0.1", "port": b.port})
				}
				return targets
			},
		},
		{
			name: "udp", about: "Send one datagram and wait a moment for an answer", params: []param{host, port},
			try:   func(ctx context.Context, a arguments) (string, error) { return datagram(ctx, address(a)) },
			sweep: always(arguments{"host": "127.0.0.1", "port": 9}),
		},
		{
			name: "dns", about: "Resolve a name",
			params: []param{{name: "name", about: "to resolve", required: true}, {name: "server", about: "ADDRESS:PORT to ask instead of the system's"}},
			try:    func(ctx context.Context, a arguments) (string, error) { return resolve(ctx, a) },
			sweep: func(b bounty) []arguments {
				if b.host == "" {
					return nil
				}
				return []arguments{{"name": b.host}}
			},
		},
		{
			name: "unix_socket", about: "Connect to a socket in the file system, such as Docker's or an SSH agent's; nothing is sent",
			params: []param{{name: "path", about: "of the socket", required: true}},
			try: func(ctx context.Context, a arguments) (string, error) {
				return dial(ctx, "unix", expand(a.text("path", "")))
			},
			sweep: func(bounty) []arguments { return sockets() },
		},
		{
			// In the sweep only on request: on a cloud machine it would succeed.
			name: "metadata", about: "Ask the cloud's metadata service at 169.254.169.254",
			try: func(ctx context.Context, _ arguments) (string, error) { return metadata(ctx) },
			sweep: func(b bounty) []arguments {
				if !b.metadata {
					return nil
				}
				return []arguments{nil}
			},
		},
	}
}

func address(a arguments) string {
	return net.JoinHostPort(a.text("host", "127.0.0.1"), strconv.Itoa(a.number("port", 0)))
}

func dial(ctx context.Context, network, address string) (string, error) {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return "connected to " + address, nil
}

func datagram(ctx context.Context, address string) (string, error) {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Write([]byte("thief\n")); err != nil {
		return "", err
	}
	// A closed port answers a datagram with an ICMP error, which the next read reports.
	if err := c.SetReadDeadline(time.Now().Add(patience / 6)); err != nil {
		return "", err
	}
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return "sent to " + address + ", no answer", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sent to %s, answered %q", address, answer[:n]), nil
}

func resolve(ctx context.Context, a arguments) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resolver := &net.Resolver{}
	if server := a.text("server", ""); server != "" {
		resolver.PreferGo = true
		resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	name := a.text("name", "")
	found, err := resolver.LookupHost(ctx, name)
	if err != nil {
		return "", err
	}
	return name + " is " + strings.Join(found, " "), nil
}

// sockets returns the Unix sockets that give the most power where they exist.
func sockets() []arguments {
	paths := []string{"/var/run/docker.sock", "/run/dbus/system_bus_socket"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "bus"))
	}
	if agent := os.Getenv("SSH_AUTH_SOCK"); agent != "" {
		paths = append(paths, agent)
	}
	targets := make([]arguments, 0, len(paths))
	for _, path := range paths {
		targets = append(targets, arguments{"path": path})
	}
	return targets
}

func metadata(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://169.254.169.254/latest/meta-data/", nil)
	if err != nil {
		return "", err
	}
	// No proxy: the theft tries what this process itself can reach.
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	return fmt.Sprintf("status %s, %d bytes", answer.Status, len(body)), err
}
