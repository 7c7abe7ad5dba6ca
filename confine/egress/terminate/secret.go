package terminate

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// secrets are values by the variable that has their placeholder.
type secrets map[string]string

// checkSecrets refuses values that could be more than the value of one header field.
func checkSecrets(values map[string]string) (secrets, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := policy.CheckSecretValue(name, values[name]); err != nil {
			return nil, err
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
