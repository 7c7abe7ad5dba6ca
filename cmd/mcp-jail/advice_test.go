//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// adviceCase is a real program that fails because of the jail. It works without a jail
// and fails in one. The proposal of the diagnosis, pasted unchanged, makes it work, and
// without any part of the proposal it fails again.
//
// In texts, $W is the base of the world: $W/home is the home directory, $W/work the
// workspace.
type adviceCase struct {
	name  string
	needs []string

	flags string // the flags of a server given after --, or
	rules string // the access tables of its configuration, without "servers.it."

	before func(t *testing.T, w *world) // prepares the host
	script string                       // a script that the server runs, or
	argv   []string                     // a command that the server runs, or
	use    use                          // another use of the server
	server func(w *world) []string      // the command of the server; nil for the exec server
	port   func(t *testing.T) string    // returns $PORT

	roots      []string // the roots of the client
	ordinary   bool     // run as an ordinary user: root would not fail
	otherWords bool     // in no_advice_test.go: the error has other words in a jail

	want string // the proposal: rules or flags joined by "; "; in no_advice_test.go a part of the failure
}

// adviceServer is the name of the server of each case.
const adviceServer = "it"

// checkAdvice tests what the type adviceCase promises.
func checkAdvice(t *testing.T, rows []adviceCase) {
	t.Helper()
	eachCase(t, rows, adviceCase.prove)
}

// eachCase makes a parallel subtest of each case; outside of make test-long, of one in three. The tests of diagnostics
// have the messages of the others.
func eachCase(t *testing.T, rows []adviceCase, check func(adviceCase, *testing.T)) {
	t.Helper()
	t.Parallel()
	for i, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			if i%3 != 0 {
				testkit.NeedsLong(t)
			}
			t.Parallel()
			need(t, append(c.needs, "/usr/bin/python3")...)
			check(c, t)
		})
	}
}

// world returns a new world for a case.
func (c adviceCase) world(t *testing.T, port string) *adviceWorld {
	t.Helper()
	w := &adviceWorld{newWorld(t), port}
	w.fixture(t, "exec.py")
	if c.before != nil {
		c.before(t, w.world)
	}
	if c.ordinary && os.Getuid() == 0 {
		w.asOrdinaryUser(t)
	}
	return w
}

// listening returns $PORT.
func (c adviceCase) listening(t *testing.T) string {
	if c.port == nil {
		return ""
	}
	return c.port(t)
}

// prove tests what the type adviceCase promises. The control without a jail and the
// removal of parts need MCPJAIL_LONG=1.
func (c adviceCase) prove(t *testing.T) {
	t.Helper()
	port := c.listening(t)
	if testkit.Long() {
		if got := c.attempt(t, c.world(t, port), nil, nil); got.IsError {
			t.Fatalf("it fails without a jail as well: %s%s", got.raw, got.texts())
		}
	}
	w := c.world(t, port)
	got := c.attempt(t, w, &proposal{}, nil)
	if !got.IsError {
		t.Fatalf("it works as it is: %s", got.raw)
	}
	p := c.proposed(t, w, got)
	if p == nil {
		return
	}
	if shown := inWork(p.line(w)); shown != c.want {
		t.Errorf("proposed %s\n    want %s\nfailure: %s", shown, c.want, got.texts())
	} else {
		t.Log(shown)
	}
	if got := c.attempt(t, c.world(t, port), p, w); got.IsError {
		t.Fatalf("with %s it still fails: %s%s", p.line(w), got.raw, got.texts())
	}
	if !testkit.Long() {
		return
	}
	for _, part := range c.superfluous(t, p, w) {
		t.Errorf("it works without %s, too", part)
	}
}

// inWork returns a proposal with the paths of the working directory as the cases write them.
func inWork(shown string) string {
	shown = strings.NewReplacer("$W/work/", "", `"$W/work"`, `"."`).Replace(shown)
	return regexp.MustCompile(`\$W/work(;|$)`).ReplaceAllString(shown, ".$1")
}

// superfluous returns the parts without which a proposal works, too. It leaves out parts
// that repeat what the policy granted before.
func (c adviceCase) superfluous(t *testing.T, p *proposal, from *adviceWorld) (parts []string) {
	t.Helper()
	for _, less := range p.reductions() {
		w := c.world(t, from.port)
		if got := c.attempt(t, w, less.rest, from); !got.IsError && !c.alreadyGranted(t, w, from, less) {
			parts = append(parts, from.hide(less.part))
		}
	}
	return parts
}

// adviceWorld is a world with a port of the host.
type adviceWorld struct {
	*world
	port string
}

// fill replaces $W and $PORT in a text by their values.
func (w *adviceWorld) fill(text string) string {
	return strings.NewReplacer("$W", w.base, "$PORT", w.port).Replace(text)
}

// hide replaces the values by $W and $PORT.
func (w *adviceWorld) hide(text string) string {
	text = strings.ReplaceAll(text, w.base, "$W")
	if w.port != "" {
		text = regexp.MustCompile(`\b`+w.port+`\b`).ReplaceAllLiteralString(text, "$PORT")
	}
	return text
}

// argvOf returns the command of the server.
func (c adviceCase) argvOf(w *adviceWorld) []string {
	if c.server != nil {
		return c.server(w.world)
	}
	return []string{"/usr/bin/python3", filepath.Join(w.base, "server", "exec.py")}
}

// attempt uses the server once: without a jail if p is nil, otherwise with the additions
// of p to the policy. p was proposed in the world from.
func (c adviceCase) attempt(t *testing.T, w *adviceWorld, p *proposal, from *adviceWorld) (got outcome) {
	t.Helper()
	argv := c.argvOf(w)
	cmd := w.plain(argv...)
	if p != nil {
		cmd = w.jail(c.arguments(t, w, p, from, argv)...)
	}
	s := start(t, cmd)
	defer func() {
		s.close()
		got.stderr = s.stderr.String()
	}()
	m := s.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": c.capabilities(w, s), "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	if m.Error != nil {
		return outcome{toolResult: toolResult{raw: m.Error, IsError: true}}
	}
	s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if c.roots != nil {
		testkit.Eventually(t, "the server has its roots", func() bool {
			said := s.stderr.String()
			return strings.Contains(said, "directories from MCP roots") || strings.Contains(said, "No valid root directories")
		})
	}
	if c.use != nil {
		return outcome{toolResult: c.use(t, w.world, s)}
	}
	do := slices.Clone(c.argv)
	if do == nil {
		do = []string{"sh", "-c", c.script}
	}
	for i := range do {
		do[i] = w.fill(do[i])
	}
	return outcome{toolResult: s.tool("run", map[string]any{"argv": do})}
}

// outcome is what the client of a case saw.
type outcome struct {
	toolResult
	stderr string
}

// capabilities returns the capabilities of the client, and makes it answer requests for
// its roots.
func (c adviceCase) capabilities(w *adviceWorld, s *clientSession) map[string]any {
	if c.roots == nil {
		return map[string]any{}
	}
	roots := []map[string]string{}
	for _, dir := range c.roots {
		roots = append(roots, map[string]string{"uri": "file://" + w.fill(dir)})
	}
	s.answer = func(m message) any { return map[string]any{"roots": roots} }
	return map[string]any{"roots": map[string]any{}}
}

// arguments returns the arguments of `mcp-jail run` or `mcp-jail plan`.
func (c adviceCase) arguments(t *testing.T, w *adviceWorld, p *proposal, from *adviceWorld, argv []string) []string {
	t.Helper()
	here := func(text string) string {
		if from != nil {
			text = strings.ReplaceAll(text, from.base, w.base)
		}
		return text
	}
	if c.rules == "" {
		flags := w.fill(c.flags)
		for _, f := range p.flags {
			flags += " " + here(f)
		}
		if access := regexp.MustCompile("--(read|write|execute|net) "); !access.MatchString(c.flags) && access.MatchString(flags) {
			flags += " --write ." // mcp-jail grant keeps the workspace
		}
		args := append([]string{"--name", adviceServer}, w.words(t, flags)...)
		return append(append(args, "--"), argv...)
	}
	file := filepath.Join(w.base, "c.toml")
	text := fmt.Sprintf("version = 1\n[servers.%s]\ncommand = %q\narguments = [", adviceServer, argv[0])
	for _, a := range argv[1:] {
		text += fmt.Sprintf("%q, ", a)
	}
	text += "]\n" + strings.ReplaceAll(w.fill(c.rules), "[access", "[servers."+adviceServer+".access")
	for _, r := range p.rules {
		text += "\n" + here(r)
	}
	must(t, os.WriteFile(file, []byte(text), 0o644))
	return []string{"--config", file, adviceServer}
}

// words splits a command line as a shell does.
func (w *world) words(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `printf '%s\n' `+line)
	cmd.Env = w.env
	out, err := cmd.Output()
	must(t, err)
	return strings.Fields(string(out))
}

// proposal is what a diagnosis proposes: tables for the configuration, or flags with
// their values.
type proposal struct{ rules, flags []string }

// proposed returns the proposal in the record, and tests that the client was told the
// same.
func (c adviceCase) proposed(t *testing.T, w *adviceWorld, got outcome) *proposal {
	t.Helper()
	var record struct {
		Diagnoses []struct {
			Stage, Attribution, Cause string
			Words                     []string
		}
	}
	must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", adviceServer)), &record))
	if len(record.Diagnoses) == 0 {
		t.Errorf("no diagnosis of %s", got.texts())
		return nil
	}
	d := record.Diagnoses[len(record.Diagnoses)-1]
	if d.Attribution != "certain" && d.Attribution != "likely" {
		t.Errorf("the cause is %s: %s\nfailure: %s", d.Attribution, d.Cause, got.texts())
	}
	p := &proposal{}
	switch {
	case c.rules == "" && len(d.Words) > 0:
		for i := 0; i+1 < len(d.Words); i += 2 {
			p.flags = append(p.flags, d.Words[i]+" "+d.Words[i+1])
		}
	case len(d.Words) > 0 && c.rules != "":
		for _, table := range regexp.MustCompile(`(?m)^\[`).Split("\n"+strings.Join(ruleLines(adviceServer, d.Words), "\n"), -1)[1:] {
			p.rules = append(p.rules, "["+strings.TrimSpace(table)+"\n")
		}
	default:
		t.Errorf("nothing that could be pasted: %+v\nfailure: %s", d, got.texts())
		return nil
	}
	told := got.texts() + string(got.raw)
	if d.Stage != "call" { // the server reported it on stderr earlier
		told += got.stderr
	}
	if command := "mcp-jail grant " + adviceServer + " --last"; !strings.Contains(told, command) {
		t.Errorf("the client is not told %s: %s", command, told)
	}
	return p
}

// line returns a proposal in the form of adviceCase.want.
func (p *proposal) line(w *adviceWorld) string {
	var parts []string
	for _, r := range p.rules {
		r = strings.NewReplacer("[servers."+adviceServer+".", "[", " = true", "", "\n", ", ", "]\n", "] ", "]]\n", "]] ").Replace(strings.TrimSpace(r))
		parts = append(parts, r)
	}
	return w.hide(strings.Join(append(parts, p.flags...), "; "))
}
