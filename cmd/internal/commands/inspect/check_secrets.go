package inspect

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// secretReport says whether a secret is available. It never has the value.
type secretReport struct {
	Env       string `json:"env"`
	Source    string `json:"source"` // as text
	Available bool   `json:"there"`
	Detail    string `json:"detail,omitempty"` // why it is not available
}

// secretReports reports which secrets of a policy are available. It shows no values and
// runs no commands.
func secretReports(p *policy.Policy, profile *policy.Profile) (reports []secretReport) {
	for _, r := range p.Net {
		for _, s := range r.Secrets {
			if slices.ContainsFunc(reports, func(o secretReport) bool { return o.Env == s.Env }) {
				continue
			}
			report := secretReport{Env: s.Env, Source: s.Source()}
			i := slices.IndexFunc(profile.Secrets, func(o policy.Secret) bool { return o.Env == s.Env })
			if i < 0 {
				report.Detail = "it is missing"
			} else if report.Detail = secretProblem(profile.Secrets[i]); report.Detail == "" {
				report.Available = true
			}
			reports = append(reports, report)
		}
	}
	return reports
}

// secretProblem returns why a resolved secret cannot be read, or "".
func secretProblem(s policy.Secret) string {
	switch {
	case s.File != "":
		f, err := os.OpenFile(s.File, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0) // opening a FIFO does not wait for a writer
		if err != nil {
			return err.Error()
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil && info.Size() == 0 && info.Mode().IsRegular() {
			return "the file is empty"
		}
	case s.Command != nil && s.Program == "":
		return s.Command[0] + " was not found, or cannot be executed"
	}
	return ""
}

// checkSecrets looks for the secrets of a server, and of the tools of a stateless server.
func checkSecrets(t *session.Target, r *serverReport) {
	r.Secrets = secretReports(t.Policy, t.Profile)
	for i := range r.Tools {
		if tool := r.Tools[i].target; tool != nil && tool.Profile != nil {
			r.Tools[i].Secrets = secretReports(tool.Policy, tool.Profile)
		}
	}
}

// secretTable returns a line for each secret.
func secretTable(c terminal.Console, indent, prefix string, secrets []secretReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range secrets {
		mark, words := c.Paint(terminal.Green, "yes"), s.Source
		if !s.Available {
			mark = c.Paint(terminal.Yellow, "no ")
		}
		if s.Detail != "" {
			words += ": " + s.Detail
		}
		fmt.Fprintf(w, "%s%s\t%ssecret %s\t%s\n", indent, mark, prefix, show.Line(s.Env), show.Line(words))
	}
	w.Flush()
	return b.String()
}
