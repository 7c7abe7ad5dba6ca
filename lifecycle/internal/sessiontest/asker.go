//go:build unix

package sessiontest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Asker keeps answers for a test. It allows three questions.
type Asker struct {
	mu         sync.Mutex
	asked      int
	noes, yess []string
	Next       *session.Next // what a stateful server is started again with; nil: it is not
}

func (a *Asker) May(words []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !slices.Contains(a.noes, strings.Join(words, " "))
}

func (a *Asker) Begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return a.asked <= 3
}

func (a *Asker) No(words []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noes = append(a.noes, strings.Join(words, " "))
}

func (a *Asker) Yes(tool string, words []string) (*session.Next, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.yess = append(a.yess, strings.Join(words, " "))
	return a.Next, nil
}

// Kept says what was answered so far.
func (a *Asker) Kept() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return "yes " + strings.Join(a.yess, ", ") + "; no " + strings.Join(a.noes, ", ")
}

// AskedDenial is a refused connection of api.example.com.
func AskedDenial() policy.Denial {
	return policy.Denial{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com:443", Reason: policy.DeniedNotGranted, Count: 2}
}

// Asking makes a session ask by a. Nothing speaks against any change.
func Asking(s *session.Session, a *Asker) {
	s.Asker, diagnostest.Of(&s.Known).Decide = a, Deciding()
	session.TimesOf(s).Automatic = time.Nanosecond
}

// Deciding returns the Decide of a session in which reasons of some kinds speak against every change.
func Deciding(kinds ...policy.ReasonKind) func(...change.Want) []change.Proposal {
	return func(wants ...change.Want) (all []change.Proposal) {
		var reasons []policy.Reason
		for _, kind := range kinds {
			reasons = append(reasons, policy.Reason{Kind: kind})
		}
		for _, w := range wants {
			all = append(all, change.Judge(w, reasons, nil))
		}
		return all
	}
}

// HelloForms is the initialize of a client of some name that shows forms.
func HelloForms(name, elicitation string) string {
	return strings.Replace(HelloFrom("0", `{`+elicitation+`}`), `"name":"c"`, `"name":"`+name+`"`, 1)
}

// ModernForms is a modern request of such a client.
func ModernForms(name, id, method, params string) string {
	return strings.Replace(ModernBy(name, id, method, params), `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
}
