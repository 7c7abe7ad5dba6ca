package doctorcmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
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
}

// withoutFeature says what holds all the same without an optional feature.
var withoutFeature = map[string]string{"cgroup": "limits still hold, checked by mcp-jail"}

// optionalFeatures are the features without which a jail still enforces what it claims.
var optionalFeatures = map[string]bool{"seccomp_notify": true, "fresh_proc": true, "ptrace_scope": true, "pid_max": true, "supervised_sockets": true, "cgroup": true, "overlay": true, "egress": true, "requests": true}

func (d *doctorCmd) report(c terminal.Console, features confine.Features, egress confine.Feature, trial error) {
	inside := ""
	if features.Inside != "" {
		inside = ", inside " + features.Inside
	}
	c.PrintText(fmt.Sprintf("%s %s %s, user %d%s\n\n", features.OS, features.Kernel, features.Arch, os.Getuid(), inside))
	if isWSL(features.Kernel) {
		c.PrintText("WSL: a jail starts no program of Windows. What holds below /mnt/c: docs/wsl.md\n\n")
	}
	lines := append(features.List(), confine.NamedFeature{Name: "egress", Feature: egress}, confine.NamedFeature{Name: "requests", Feature: findTLSProgram()})
	switch axes, _ := tryHostNamespaces(trial); {
	case trial == nil:
		c.PrintText(c.Paint(terminal.Green, "this host can enforce the default policy") + ": a program ran in a jail that tested itself from inside\n")
	default:
		c.PrintText(c.Paint(terminal.Red, "no jail can be built here that holds the default policy:") + "\n" + trial.Error() + "\n")
		if axes != nil {
			c.PrintText("\n" + c.Paint(terminal.Yellow, "a jail without namespaces, which holds the rest, can be built") + ": a program ran in it, which tested itself from inside. For the servers of your clients, `mcp-jail wrap` asks whether you accept that\n")
		}
	}
	if table := featureTable(lines, d.verbose); table != "" {
		c.PrintText("\n" + table)
	}
	for _, f := range lines {
		if f.Answer == confine.No && f.Fix != "" && (d.verbose || f.Name != "cgroup") {
			c.PrintText("\n" + f.Name + ": " + f.Fix + "\n")
		}
	}
}

// isWSL reports whether a kernel is that of WSL, whose release names Microsoft.
func isWSL(release string) bool { return strings.Contains(strings.ToLower(release), "microsoft") }

// featureTable returns a line for each feature. Without all, it leaves out the features that the
// host has.
func featureTable(features []confine.NamedFeature, all bool) string {
	var table strings.Builder
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mark, f.Name, purpose, f.Detail)
	}
	w.Flush()
	return table.String()
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
	err := session.TryJail(confine.Launcher{}, "example.org")
	var gaps *confine.GapError
	switch {
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
