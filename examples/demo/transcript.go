package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"
)

// transcript prints the demonstration: one line for each step and one for its outcome. Colours repeat what the words say.
type transcript struct {
	out   io.Writer
	color bool
}

type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
	cyan   ink = "36"
)

// width fits into a narrow terminal and a picture.
const width = 92

func (p transcript) in(i ink, text string) string {
	if !p.color || i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

func (p transcript) line(format string, a ...any) {
	fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf(format, a...), " "))
}

func (p transcript) heading(number int, text, more string) {
	p.line("")
	p.line("%s %s%s", p.in(cyan, fmt.Sprint(number)), p.in(bold, text), p.in(dim, more))
}

func (p transcript) command(text string) { p.line("  %s %s", p.in(dim, "$"), p.in(dim, text)) }

// step prints a call: whether it worked, the question, the answer.
func (p transcript) step(ok bool, asked, said string) {
	const column = 16
	mark := p.in(green, "✓")
	if !ok {
		mark = p.in(yellow, "✗")
	}
	p.line("  %s %s %s", mark, pad(asked, column), cut(oneLine(said), width-column-5))
}

func (p transcript) aside(i ink, text string) {
	for line := range strings.Lines(text) {
		p.line("      %s", p.in(i, cut(strings.TrimRight(line, "\n"), width-6)))
	}
}

// oneLine returns the first line of text that is neither a heading nor empty.
func oneLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return strings.TrimSpace(text)
}

func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-utf8.RuneCountInString(text)))
}

func cut(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}

// hosts plays the thief again with one port of this machine granted. The thief reaches that port and nothing else, and
// the jail names the hosts that it asked for.
func (d *demo) hosts(ctx context.Context) error {
	policy, err := d.portPolicy()
	if err != nil {
		return err
	}
	d.heading(4, "thief", ", which may connect to one port of this machine")
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
