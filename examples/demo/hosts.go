package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// hosts plays the thief again with one port of this machine granted. The thief reaches that port and nothing else, and
// the jail names the hosts that it asked for.
func (d *demo) hosts(ctx context.Context) error {
	policy, err := d.portPolicy()
	if err != nil {
		return err
	}
	d.heading(4, "thief", ", with one port of this machine granted")
	d.command("mcp-jail run --config port.toml thief")
	s, err := d.start(ctx, d.programs.jail, "run", "--config", policy, "thief")
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := d.ask(ctx, s, true, "connect to it", "connect", map[string]any{"port": portOf(d.tcp)}); err != nil {
		return err
	}
	if _, err := d.ask(ctx, s, false, "to another", "connect", map[string]any{"port": portOf(d.other)}); err != nil {
		return err
	}
	refused, err := d.ask(ctx, s, false, "look up a name", "dns", map[string]any{"name": "drop.example"})
	if err != nil {
		return err
	}
	if why := withoutGrant(refused.jail); why != "" {
		d.aside(dim, jailMark+" "+why)
	}
	command := grant(refused.jail)
	if command == "" {
		d.expect(false, "look up a name: the jail offered no command that grants it")
	}
	d.aside(cyan, command)
	return nil
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// portPolicy writes a configuration in which the thief may reach one local service, and returns its path.
func (s *site) portPolicy() (string, error) {
	return s.write("port.toml", fmt.Sprintf(`version = 1

[servers.thief]
command   = %s
workspace = %s

[[servers.thief.access.net]]
host   = "localhost"
scheme = "tcp"
port   = %d
allow  = true
`, quote(s.programs.thief), quote(s.path("project")), portOf(s.tcp)))
}

// where returns the address of a service as messages name it.
func where(l net.Listener) string { return "127.0.0.1:" + strconv.Itoa(portOf(l)) }
