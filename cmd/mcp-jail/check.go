package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

type checkCmd struct {
	commonFlags
	formatFlag
	Probe    bool          `long:"probe" description:"Also start each server in its jail, list its tools, and try to connect to the hosts that it may reach."`
	Timeout  time.Duration `long:"timeout" value-name:"60s" unquote:"false" default:"60s" description:"With --probe: the time limit for one server."`
	filesArg `positional-args:"yes"`
}

// filesArg is the argument of check.
type filesArg struct {
	Files []string `positional-arg-name:"<file> ..." description:"Configuration files to check instead of the usual ones."`
}

func (*checkCmd) Help() string {
	return `    mcp-jail check
    mcp-jail check --probe
    mcp-jail check team.toml --format json

Exit status 0: no error; 1: a server failed, or its program is missing; 2: the
configuration has an error; 3: this host cannot enforce it. Warnings do not
change the status, and neither do hosts that --probe cannot reach.`
}

// maxHardLinkFiles bounds the files that check examines for hard links.
const maxHardLinkFiles = 50000

// serverReport is the result of checking one server.
type serverReport struct {
	Server   string         `json:"server"`
	OK       bool           `json:"ok"`
	Policy   string         `json:"policy,omitempty"`
	Errors   []string       `json:"errors,omitempty"`
	Gaps     []confine.Gap  `json:"gaps,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Remarks  []string       `json:"remarks,omitempty"`
	Tools    []toolReport   `json:"tools,omitempty"`
	Probed   string         `json:"probed,omitempty"` // the name and version that the server reports
	Hosts    []hostReport   `json:"hosts,omitempty"`  // the hosts that its own policy grants
	Secrets  []secretReport `json:"secrets,omitempty"`

	stateless bool
	status    int
}

func (k *checkCmd) Run(c console) error {
	axes, err := k.axes()
	if err != nil {
		return err
	}
	if k.Timeout <= 0 {
		return usageErrorf("--timeout %s: it has to be positive, such as 60s or 2m", k.Timeout)
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	files, err := expandHome(append(slices.Clone(k.Config), k.Files...))
	if err != nil {
		return err
	}
	host.Configs = absolutePaths(files)
	cfg, err := config.Load(config.LoadOptions{Files: files})
	if err != nil {
		return k.reportBroken(c, err)
	}
	reports, err := k.checkServers(c, host, cfg, axes)
	if err != nil {
		return err
	}
	k.show(c, cfg.Files, reports)
	worst := exitOK
	for _, r := range reports {
		worst = max(worst, r.status)
	}
	if worst != exitOK {
		return reportedStatus(worst)
	}
	return nil
}

// checkServers checks all servers of a configuration. A signal stops it after the current one.
func (k *checkCmd) checkServers(c console, host hostfs.Host, cfg *config.Config, axes []policy.Axis) ([]serverReport, error) {
	interrupted := make(chan os.Signal, 1)
	if k.Probe { // the current session ends by itself; start no other
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if !signal.Ignored(s) {
				signal.Notify(interrupted, s)
			}
		}
		defer signal.Stop(interrupted)
	}
	names := cfg.ServerNames()
	reports := make([]serverReport, 0, len(names))
	for _, name := range names {
		r := k.checkServer(c, &target{host: host}, cfg, name, axes)
		select {
		case s := <-interrupted:
			c.errorf("interrupted while checking %s; there is no report", name)
			number, _ := s.(syscall.Signal)
			return nil, reportedStatus(128 + int(number))
		default:
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// show prints the reports as text or as JSON.
func (k *checkCmd) show(c console, files []string, reports []serverReport) {
	if k.Format == "json" {
		out := struct {
			Files   []string       `json:"files"`
			Servers []serverReport `json:"servers"`
		}{files, reports}
		b, _ := json.MarshalIndent(out, "", "  ")
		c.printf("%s\n", diagnostics.EscapeJSON(b))
		return
	}
	for _, r := range reports {
		c.printf("%s", r.text(c))
	}
	if len(reports) == 0 {
		c.printf("no server is configured%s\n", configSources(files))
	}
}

func configSources(files []string) string {
	if len(files) == 0 {
		return ": no configuration file was found"
	}
	return " in " + strings.Join(files, ", ")
}

// reportBroken reports a configuration that cannot be loaded.
func (k *checkCmd) reportBroken(c console, err error) error {
	var problems policy.Problems
	if k.Format != "json" {
		return err
	}
	var untrusted *config.UntrustedError
	switch {
	case errors.As(err, &problems):
	case errors.As(err, &untrusted):
		problems = policy.Problems{{File: untrusted.File, Message: err.Error()}}
	default:
		problems = policy.Problems{{Message: err.Error()}}
	}
	type problem struct {
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Key     string `json:"key,omitempty"`
		Message string `json:"message"`
	}
	out := struct {
		Problems []problem `json:"problems"`
	}{}
	for _, p := range problems {
		out.Problems = append(out.Problems, problem{p.File, p.Line, p.Key, p.Message})
	}
	b, _ := json.MarshalIndent(out, "", "  ")
	c.printf("%s\n", diagnostics.EscapeJSON(b))
	return reportedStatus(exitStatusOf(err))
}

// checkServer checks one server and stops at the first mistake that prevents the rest.
func (k *checkCmd) checkServer(c console, t *target, cfg *config.Config, name string, axes []policy.Axis) (r serverReport) {
	r = serverReport{Server: name}
	fail := func(status int, err error) serverReport {
		r.Errors, r.status = append(r.Errors, err.Error()), max(r.status, status)
		return r
	}
	var err error
	t.setConfig(cfg, name, "", axes)
	if t.policy, err = t.policyOf(""); err != nil {
		return fail(exitUsage, err)
	}
	r.Policy, r.Remarks, r.stateless = describePolicy(t.policy), remarkTexts(t.policy), !t.policy.Stateful
	if t.profile, t.warnings, err = resolveProfile(t.policy, t.host, t.warnings); err != nil {
		return fail(exitStatusOf(err), err)
	}
	r.Warnings = t.warningTexts()
	plan, err := t.compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err != nil {
		return fail(exitHost, err)
	}
	r.Warnings = append(r.Warnings, warningTexts(resolve.HardLinks(t.profile, t.host, maxHardLinkFiles))...)
	if k.Probe {
		err = t.tryServer(c, &r, k.Timeout)
	}
	if !t.policy.Stateful {
		r.status = t.reportTools(&r)
	}
	if k.Probe {
		t.checkHosts(c, &r, k.Timeout)
	}
	if err != nil {
		return fail(exitFailure, err)
	}
	r.OK = r.status == exitOK
	return r
}

func (r serverReport) text(c console) string {
	var b strings.Builder
	mark := c.paint(green, "ok")
	if !r.OK {
		mark = c.paint(red, "failed")
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", mark, c.paint(bold, r.Server), printable(r.Policy))
	line := func(code, what, msg string) {
		fmt.Fprintf(&b, "    %s %s\n", c.paint(code, what), strings.ReplaceAll(printableLines(msg), "\n", "\n      "))
	}
	for _, e := range r.Errors {
		line(red, "error:", e)
	}
	for _, w := range r.Warnings {
		line(yellow, "warning:", w)
	}
	for _, g := range r.Gaps {
		if g.Waived {
			line(yellow, "waived:", fmt.Sprintf("%s: %s: %s", g.Axis, g.What, g.Why))
		}
	}
	for _, m := range r.Remarks {
		line(dim, "note:", m)
	}
	b.WriteString(hostTable(c, "    ", "", r.Hosts, r.Secrets))
	if r.Probed != "" {
		plural := "s:"
		switch len(r.Tools) {
		case 0:
			plural = "s"
		case 1:
			plural = ":"
		}
		fmt.Fprintf(&b, "    %s offers %d tool%s\n", printable(r.Probed), len(r.Tools), plural)
	}
	if !r.stateless {
		writeWrapped(&b, "      ", toolNames(r.Tools))
		return b.String()
	}
	if r.Probed == "" && len(r.Tools) > 0 {
		b.WriteString("    tools with a table\n")
	}
	b.WriteString(toolTable("      ", r.Tools))
	for _, t := range r.Tools {
		tool := "tool " + printable(t.Name) + ": "
		b.WriteString(hostTable(c, "      ", tool, t.Hosts, t.Secrets))
		for _, e := range t.Errors {
			line(red, "error:", tool+e)
		}
		for _, w := range t.Warnings {
			line(yellow, "warning:", tool+w)
		}
		for _, g := range t.Gaps {
			if g.Waived {
				line(yellow, "waived:", fmt.Sprintf("%s%s: %s: %s", tool, g.Axis, g.What, g.Why))
			}
		}
	}
	return b.String()
}

func toolNames(tools []toolReport) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = printable(t.Name)
	}
	return names
}
