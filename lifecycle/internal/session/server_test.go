package session

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHidden: the record names what was refused to a process that was started again twice, and has no secret of it.
func TestHidden(t *testing.T) {
	t.Parallel()
	const secret = "Mz7-q0vRkW2xLpT9"
	of := func(value string) *Server {
		return &Server{Profile: &policy.Profile{Env: []policy.Variable{{Name: "TOKEN", Value: value, Secret: true}}}}
	}
	first, second, third := of(secret), of("Ky4-b8nQsH5cJdF1"), of("Xw6-t3gYmE7uZaB0")
	first.redact(first.Profile.Env)
	second.Follow(first, nil)
	third.Follow(second, nil)
	for i, s := range []*Server{first, second, third} {
		if text := s.Redact.Redact("/home/u/" + secret); strings.Contains(text, secret) {
			t.Errorf("process %d: %s", i+1, text)
		}
	}
}
