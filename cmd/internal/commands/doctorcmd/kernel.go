package doctorcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// featurePurposes has the purpose of each feature: those of confine.Features.List in its order,
// then those that doctor tries itself.
var featurePurposes = map[string]string{
	"landlock":           "second wall: files, signals, abstract sockets",
	"seccomp":            "filter of system calls",
	"seccomp_notify":     "a supervisor that system calls can be handed to",
	"seccomp_tsync":      "one filter for all threads",
	"userns":             "first wall: namespaces without root",
	"mount_api":          "mounts by descriptor",
	"fresh_proc":         "a /proc of the jail's own",
	"ptrace_scope":       "the supervisor may read the arguments of calls",
	"pid_max":            "limit of processes for root",
	"supervised_sockets": "granted hosts where there are no namespaces",
	"cgroup":             "limits that the kernel holds",
	"overlay":            "what the server keeps, in the HOME of each call",
	"egress":             "granted hosts and no others",
	"requests":           "of granted hosts: paths, methods, secrets",

	"seatbelt":  "the sandbox of macOS, which decides about files, hosts and services",
	"self_test": "shows on this machine that the system holds what a jail promises",
}

// withoutFeature says what holds all the same without an optional feature.
var withoutFeature = map[string]string{"cgroup": "limits still hold, checked by mcp-jail"}

// optionalFeatures are the features without which a jail still enforces what it claims.
var optionalFeatures = map[string]bool{"seccomp_notify": true, "fresh_proc": true, "ptrace_scope": true, "pid_max": true, "supervised_sockets": true, "cgroup": true, "overlay": true, "egress": true, "requests": true}

// A trial is what came of building a jail. Its gaps are those that the operating system has under every
// policy, if the jail was built with these accepted.
type trial struct {
	err  error
	gaps []confine.Gap
}

// tryJail builds a jail that reaches some hosts, and one for which the gaps of the operating system are
// accepted where there are no others.
func tryJail(hosts ...string) trial {
	err := session.TryJail(confine.Launcher{}, hosts...)
	var open *confine.GapError
	if !errors.As(err, &open) || open.Waive == nil || slices.ContainsFunc(open.Waive, func(a policy.Axis) bool { return !a.IsPlatform() }) {
		return trial{err: err}
	}
	return trial{session.TryJail(confine.Launcher{Waive: open.Waive}, hosts...), open.Gaps}
}

func (d *doctorCmd) report(c terminal.Console, features confine.Features, egress confine.Feature, tried trial) {
	inside := ""
	if features.Inside != "" {
		inside = ", inside " + features.Inside
	}
	if features.OS != "windows" { // users have no numbers there
		inside = fmt.Sprintf(", user %d", os.Getuid()) + inside
	}
	c.PrintText(fmt.Sprintf("%s %s%s\n\n", features.System(), features.Arch, inside))
	if isWSL(features.Kernel) {
		c.PrintText("WSL: a jail starts no program of Windows. What holds below /mnt/c: docs/wsl.md\n\n")
	}
	lines := append(features.List(), confine.NamedFeature{Name: "egress", Feature: egress}, confine.NamedFeature{Name: "requests", Feature: findTLSProgram()})
	switch axes, _ := tryHostNamespaces(tried.err); {
	case tried.err == nil && tried.gaps != nil:
		c.PrintText(c.Paint(terminal.Green, "this host can enforce the default policy") + " but for what is listed here: a program ran in a jail that tested itself from inside. Each server has to accept it (" + confine.WaiveFlags(confine.WaiversFor(tried.gaps, nil)) + "); `mcp-jail wrap` asks once for all\n")
		for _, g := range tried.gaps {
			c.PrintText(terminal.Hang("", strings.Repeat(" ", 11), show.Line(fmt.Sprintf("  %-8s %s: %s", g.Axis, g.What, g.Why)), c.TextColumns()) + "\n")
		}
	case tried.err == nil:
		c.PrintText(c.Paint(terminal.Green, "this host can enforce the default policy") + ": a program ran in a jail that tested itself from inside\n")
	default:
		c.PrintText(c.Paint(terminal.Red, "no jail can be built here that holds the default policy:") + "\n" + elsewhere.Replace(tried.err.Error()) + "\n")
		if axes != nil {
			c.PrintText("\n" + c.Paint(terminal.Yellow, "a jail without namespaces, which holds the rest, can be built") + ": a program ran in it, which tested itself from inside. For the servers of your clients, `mcp-jail wrap` asks whether you accept that\n")
		}
	}
	if table := featureTable(lines, d.verbose, c.TextColumns()); table != "" {
		c.PrintText("\n" + table)
	}
	for _, f := range lines {
		if f.Answer == confine.No && f.Fix != "" && (d.verbose || f.Name != "cgroup") {
			c.PrintText("\n" + f.Name + ": " + elsewhere.Replace(f.Fix) + "\n")
		}
	}
}

// isWSL reports whether a kernel is that of WSL, whose release names Microsoft.
func isWSL(release string) bool { return strings.Contains(strings.ToLower(release), "microsoft") }

// featureTable returns a line for each feature. Without all, it leaves out the features that the
// host has. A detail that is too long for the line follows below it.
func featureTable(features []confine.NamedFeature, all bool, columns int) string {
	var table strings.Builder
	var details []string
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, f := range features {
		if f.Answer == confine.Yes && !all {
			continue
		}
		mark := map[confine.Answer]string{confine.Yes: "yes", confine.No: "no", confine.Unknown: "?"}[f.Answer]
		purpose := featurePurposes[f.Name]
		if f.Answer != confine.Yes && optionalFeatures[f.Name] {
			mark, purpose = "-", "optional: "+purpose
			if holds := withoutFeature[f.Name]; holds != "" {
				purpose = "not used (optional): " + holds
			}
		}
		details = append(details, elsewhere.Replace(f.Detail))
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mark, f.Name, purpose, details[len(details)-1])
	}
	w.Flush()
	rows := strings.SplitAfter(table.String(), "\n")
	for i, detail := range details {
		if head, ok := strings.CutSuffix(rows[i], detail+"\n"); ok && detail != "" && utf8.RuneCountInString(rows[i])-1 > columns {
			indent := strings.Repeat(" ", 6)
			rows[i] = strings.TrimRight(head, " ") + "\n" + terminal.Hang(indent, indent, detail, columns) + "\n"
		}
	}
	return strings.Join(rows, "")
}

// tryHostNamespaces tries a jail without namespaces after one with namespaces was refused. It
// returns the axes to waive for it, and the gaps of the refusal. The axes are nil if that jail
// cannot be built either. Both are nil if user namespaces were not the reason.
func tryHostNamespaces(refused error) ([]policy.Axis, []confine.Gap) {
	var gaps *confine.GapError
	if !errors.As(refused, &gaps) || gaps.HostNamespaces.Answer != confine.No {
		return nil, nil
	}
	if gaps.Waive == nil || session.TryJail(confine.Launcher{Waive: gaps.Waive}) != nil {
		return nil, gaps.Gaps
	}
	return gaps.Waive, gaps.Gaps
}

// tryEgress reports whether a program can be started with a granted host. The program does not
// connect to the host.
func tryEgress() confine.Feature {
	tried := tryJail("example.org")
	err := tried.err
	var gaps *confine.GapError
	switch {
	case err == nil && tried.gaps != nil:
		return confine.Feature{Answer: confine.Yes, Detail: "a proxy of the session's own"}
	case err == nil:
		return confine.Feature{Answer: confine.Yes, Detail: "sockets handed out of the jail"}
	case errors.As(err, &gaps):
		for _, g := range gaps.Gaps {
			if g.Axis == policy.AxisNet {
				return confine.Feature{Answer: confine.No, Detail: g.Why}
			}
		}
		if gaps.HostNamespaces.Answer == confine.No && gaps.Waive != nil && session.TryJail(confine.Launcher{Waive: gaps.Waive}, "example.org") == nil {
			return confine.Feature{Answer: confine.Yes, Detail: "sockets made by a supervisor"}
		}
	}
	return confine.Feature{Answer: confine.No, Detail: "no jail can be built"}
}

// findTLSProgram looks for mcp-jail-tls as a start does. It assumes a server that may write
// nothing.
func findTLSProgram() confine.Feature {
	self, _ := os.Executable()
	program, err := tlsworker.Find(self, os.Getenv("PATH"), func(string, policy.Rights) (policy.Writer, bool) { return policy.Writer{}, false })
	switch {
	case errors.Is(err, tlsworker.ErrMissing):
		return confine.Feature{Answer: confine.No, Detail: tlsworker.ErrMissing.Error(), Fix: "install mcp-jail-tls beside mcp-jail, from the same build"}
	case err != nil:
		return confine.Feature{Answer: confine.No, Detail: err.Error()}
	}
	return confine.Feature{Answer: confine.Yes, Detail: program}
}
