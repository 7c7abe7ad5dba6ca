//go:build unix

package lifecycle

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRecordedDenials: control characters that a server puts into names do not reach the
// record.
func TestRecordedDenials(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + secret, Program: "/home/" + secret, Count: 1}
	p := begin(t, &fake{server: "polite", denials: []policy.Denial{denial}}, func(s *Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: secret, Secret: true}}
	})
	p.send(callLine)
	p.line()
	p.in.Close()
	p.rest()
	p.ended()
	for _, d := range p.record.Denials {
		if d.Target != "/[redacted TOKEN]" || d.Program != "/home/[redacted TOKEN]" {
			t.Errorf("recorded: %+v", d)
		}
	}
	if b, err := p.record.Encode(); err != nil || len(p.record.Denials) != 1 || strings.Contains(string(b), secret) {
		t.Errorf("%v: %s", err, b)
	}
}

// TestHiddenSecrets: values of secrets that the server does not have, but got back from
// somewhere, are redacted.
func TestHiddenSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	p := begin(t, &fake{server: "failing", secrets: map[string]string{"TOKEN": secret}, denials: []policy.Denial{
		{Axis: policy.AxisNet, Operation: "resolve", Target: secret + ".example", Reason: "not_granted", Count: 1},
		{Axis: policy.AxisNet, Operation: "connect", Target: "a.example:443", Reason: "request", Detail: "GET /" + secret + ": no rule allows it", Count: 1},
		{Axis: policy.AxisFs, Operation: "open", Target: "/" + base64.StdEncoding.EncodeToString([]byte("u:"+secret)), Count: 1},
	}}, func(s *Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: policy.Placeholder("TOKEN")}}
	})
	p.send(callLine)
	shown := p.line()
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	record, err := p.record.Encode()
	if err != nil || len(p.record.Denials) != 3 || len(p.record.Diagnoses) != 1 || len(p.record.Remedies) == 0 {
		t.Errorf("%v: %s", err, record)
	}
	for where, text := range map[string]string{"the client": shown, "stderr": stderr, "the record": string(record)} {
		if strings.Contains(text, secret) || strings.Contains(text, base64.RawStdEncoding.EncodeToString([]byte(secret)[1:16])) || strings.Count(text, "[redacted TOKEN]") < 3 {
			t.Errorf("%s is shown\n%s", where, text)
		}
	}
}
