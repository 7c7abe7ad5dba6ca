package config

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestForms tests with many texts that the pattern of a form matches all that its check accepts,
// and that neither accepts everything.
func TestForms(t *testing.T) {
	rule := func(change func(r *policy.NetRule, text string)) func(string) error {
		return func(text string) error {
			r := policy.NetRule{Host: "h", Allow: true}
			change(&r, text)
			return policy.CheckNetRule(r)
		}
	}
	secret := func(s policy.Secret) func(r *policy.NetRule, _ string) {
		return func(r *policy.NetRule, _ string) { r.Secrets = []policy.Secret{s} }
	}
	forms := map[string]form{
		"server": serverForm, "command": commandForm, "path": pathForm, "sensitive": sensitiveForm, "host": hostForm, "variable": variableForm, "prefix": prefixForm,
		"method":        {Pattern: methodPattern, Check: rule(func(r *policy.NetRule, text string) { r.Methods = []string{text} })},
		"path prefix":   {Pattern: prefixPattern, Check: rule(func(r *policy.NetRule, text string) { r.PathPrefix = text })},
		"secret's env":  {Pattern: variablePattern, Check: rule(func(r *policy.NetRule, text string) { secret(policy.Secret{Env: text})(r, text) })},
		"secret's file": {Pattern: filePattern, Check: rule(func(r *policy.NetRule, text string) { secret(policy.Secret{Env: "A", File: text})(r, text) })},
		"header":        {Pattern: headerPattern, Check: rule(func(r *policy.NetRule, text string) { secret(policy.Secret{Env: "A", Header: []string{text}})(r, text) })},
	}
	letters := []rune("AbZ09.*~/[]:%@?#\\ \n\r\t-_=$`{}!|'+é\u3000\ufeff＊ß\x7f")
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"example.com", "*.example.com", "::1", "[::1]", "~", "~/x", "$HOME/x", "**/x", "/a/b", "GET", "X-Y", "A*"}
	for range 50_000 {
		text := make([]rune, 1+random.IntN(5))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		texts = append(texts, string(text))
	}
	for name, f := range forms {
		pattern, accepted, refused := regexp.MustCompile(f.Pattern), 0, 0
		for _, text := range texts {
			ok, matched := f.Check(text) == nil, pattern.MatchString(text)
			if ok && !matched {
				t.Errorf("%s: %q is accepted, and does not match %s", name, text, f.Pattern)
			}
			if ok {
				accepted++
			}
			if !matched {
				refused++
			}
		}
		if accepted == 0 || refused == 0 {
			t.Errorf("%s: %d texts were accepted, %d did not match", name, accepted, refused)
		}
	}
}
