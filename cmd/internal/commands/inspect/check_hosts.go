package inspect

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	hostCheckTimeout  = 5 * time.Second // to look up and connect to one host
	maxParallelChecks = 32
	maxHosts          = 256 // of one policy
)

// hostReport is the result of trying to connect to a granted host.
type hostReport struct {
	Host      string        `json:"host"`
	Port      int           `json:"port,omitempty"`
	Outcome   egress.Status `json:"outcome"` // or "not_tried"
	Addresses []string      `json:"addresses,omitempty"`
	Proxy     string        `json:"proxy,omitempty"` // the proxy through which it was tried
	Detail    string        `json:"detail,omitempty"`
	Grant     string        `json:"grant,omitempty"` // the rule that would grant the address, as text
}

const notTried egress.Status = "not_tried"

// secretReport says whether a secret is available. It never has the value.
type secretReport struct {
	Env       string `json:"env"`
	Source    string `json:"source"` // as text
	Available bool   `json:"there"`
	Detail    string `json:"detail,omitempty"` // why it is not available
}

// hostChecks tries hosts in parallel.
type hostChecks struct {
	slots chan struct{}
	wg    sync.WaitGroup
	gates []*egress.Gateway
}

// start starts trying the hosts that a policy grants. The reports are complete after wait.
func (s *hostChecks) start(ctx context.Context, rules []policy.NetRule) []hostReport {
	var reports []hostReport
	for _, r := range rules {
		for _, port := range r.Ports() {
			h := hostReport{Host: r.Host, Port: port}
			switch {
			case !r.Allow || slices.ContainsFunc(reports, func(o hostReport) bool { return o.Host == h.Host && o.Port == port }):
				continue
			case strings.HasPrefix(r.Host, "*"):
				h.Outcome, h.Detail = notTried, "it is a wildcard"
			case len(reports) >= maxHosts:
				h.Outcome, h.Detail = notTried, "the policy has too many hosts"
			}
			reports = append(reports, h)
		}
	}
	proxy := &tlsworker.Proxy{Find: findTLS}
	g := egress.New(egress.Options{Rules: rules, StartTLS: proxy.StartTLS, EndTLS: proxy.Close})
	s.gates = append(s.gates, g)
	for i := range reports {
		if h := &reports[i]; h.Outcome == "" {
			s.wg.Go(func() {
				// At most as many trials at a time as there are slots.
				s.slots <- struct{}{}
				defer func() { <-s.slots }()
				h.check(ctx, g)
			})
		}
	}
	return reports
}

func (s *hostChecks) wait() {
	s.wg.Wait()
	for _, g := range s.gates {
		g.Close()
	}
}

func (h *hostReport) check(ctx context.Context, g *egress.Gateway) {
	ctx, cancel := context.WithTimeout(ctx, hostCheckTimeout)
	defer cancel()
	t := g.Check(ctx, h.Host, h.Port)
	h.Outcome, h.Proxy, h.Detail = t.Status, t.Proxy, t.Detail
	for _, a := range t.Addrs {
		h.Addresses = append(h.Addresses, a.String())
	}
	if t.Status == egress.StatusBadAddress {
		addr, _, _ := strings.Cut(t.Detail, " ")
		h.Grant = fmt.Sprintf("a rule for a name does not grant this address; add a rule with host = %q if you want it", addr)
	}
}

func (h *hostReport) text() string {
	var s string
	switch h.Outcome {
	case egress.StatusConnected:
		s = "answers"
	case egress.StatusNotFound:
		s = "does not resolve"
	case egress.StatusRefused:
		s = "refuses the connection"
	case egress.StatusNoAnswer:
		s = "does not answer: " + h.Detail
	case egress.StatusBadAddress, egress.StatusDenied:
		s = "refused: " + h.Detail
	default:
		s = "not tried: " + h.Detail
	}
	if h.Grant != "" {
		s += "; " + h.Grant
	}
	if len(h.Addresses) > 0 {
		s += " (" + strings.Join(h.Addresses, ", ") + ")"
	}
	if h.Proxy != "" {
		s += ", through the proxy " + h.Proxy
	}
	return s
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

// checkHosts tries the hosts of a server and of the tools of a stateless server, and looks for
// their secrets. It adds the results to the report.
func checkHosts(t *session.Target, c terminal.Console, r *serverReport, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s := &hostChecks{slots: make(chan struct{}, maxParallelChecks)}
	r.Secrets = secretReports(t.Policy, t.Profile)
	r.Hosts = s.start(ctx, t.Profile.Net)
	n := len(r.Hosts)
	for i := range r.Tools {
		if tool := r.Tools[i].target; tool != nil && tool.Profile != nil {
			r.Tools[i].Secrets = secretReports(tool.Policy, tool.Profile)
			r.Tools[i].Hosts = s.start(ctx, tool.Profile.Net)
			n += len(r.Tools[i].Hosts)
		}
	}
	slow := time.AfterFunc(time.Second, func() { c.Sayf("connecting to %d hosts of %s ...", n, r.Server) })
	defer slow.Stop()
	s.wait()
}

// hostTable returns a line for each host and each secret.
func hostTable(c terminal.Console, indent, prefix string, hosts []hostReport, secrets []secretReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	mark := func(good, asked bool) string {
		switch {
		case good:
			return c.Paint(terminal.Green, "yes")
		case !asked:
			return c.Paint(terminal.Dim, "?  ")
		}
		return c.Paint(terminal.Yellow, "no ")
	}
	for i := range hosts {
		h := &hosts[i]
		fmt.Fprintf(w, "%s%s\t%shost %s\t%s\n", indent, mark(h.Outcome == egress.StatusConnected, h.Outcome != notTried), prefix,
			show.Line(net.JoinHostPort(h.Host, strconv.Itoa(h.Port))), show.Line(h.text()))
	}
	for _, s := range secrets {
		words := s.Source
		if s.Detail != "" {
			words += ": " + s.Detail
		}
		fmt.Fprintf(w, "%s%s\t%ssecret %s\t%s\n", indent, mark(s.Available, true), prefix, show.Line(s.Env), show.Line(words))
	}
	w.Flush()
	return b.String()
}

// findTLS looks for mcp-jail-tls, which carries connections to an https:// proxy.
func findTLS() (program string, err error) {
	self, _ := os.Executable()
	return tlsworker.Find(self, os.Getenv("PATH"), func(string, policy.Rights) (policy.Writer, bool) { return policy.Writer{}, false })
}
