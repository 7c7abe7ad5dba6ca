package terminate

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// secrets are values by the variable that has their placeholder.
type secrets map[string]string

// checkSecrets refuses values that would not be the value of one header field: with
// a line break in it, a secret could end the field and begin another one.
func checkSecrets(values map[string]string) (secrets, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if v == "" {
			return nil, fmt.Errorf("the secret %s is empty", name)
		}
		for _, c := range []byte(v) {
			if c < ' ' || c == 0x7f {
				return nil, fmt.Errorf("the secret %s contains a line break or another control character, so it cannot be sent in a header field", name)
			}
		}
		if strings.TrimSpace(v) != v {
			return nil, fmt.Errorf("the secret %s begins or ends with a space, which is no part of a header field's value", name)
		}
	}
	return maps.Clone(values), nil
}

// put replaces the placeholders of the named secrets in header.
func (s secrets) put(header http.Header, named []policy.Secret) {
	var pairs []string
	for _, n := range named {
		if v, ok := s[n.Env]; ok {
			pairs = append(pairs, policy.Placeholder(n.Env), v)
		}
	}
	if pairs == nil {
		return
	}
	replacer := strings.NewReplacer(pairs...)
	for _, values := range header {
		for i, v := range values {
			values[i] = putBasic(replacer.Replace(v), replacer)
		}
	}
}

// putBasic does it inside of the credentials of Basic (RFC 7617).
func putBasic(value string, replacer *strings.Replacer) string {
	const scheme = "basic "
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value[len(scheme):]))
	if err != nil {
		return value
	}
	real := replacer.Replace(string(plain))
	if real == string(plain) {
		return value
	}
	return value[:len(scheme)] + base64.StdEncoding.EncodeToString([]byte(real))
}
