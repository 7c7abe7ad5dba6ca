package main

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// patience bounds every wait for another process.
const patience = 3 * time.Second

func networkThefts() []theft {
	host := param{name: "host", about: "name or address; 127.0.0.1 unless given"}
	port := param{name: "port", about: "number", required: true, number: true}
	return []theft{
		{
			name: "connect", about: "Connect over TCP", params: []param{host, port},
			try: func(ctx context.Context, a arguments) (string, error) {
				return dial(ctx, "tcp", address(a))
			},
		},
		{
			name: "dns", about: "Resolve a name",
			params: []param{{name: "name", about: "to resolve", required: true}},
			try:    func(ctx context.Context, a arguments) (string, error) { return resolve(ctx, a.text("name", "")) },
		},
		{
			name: "unix_socket", about: "Connect to a socket in the file system, such as Docker's or an SSH agent's; nothing is sent",
			params: []param{{name: "path", about: "of the socket", required: true}},
			try: func(ctx context.Context, a arguments) (string, error) {
				return dial(ctx, "unix", expand(a.text("path", "")))
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

func resolve(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return "", err
	}
	return name + " is " + strings.Join(found, " "), nil
}
