package config

import (
	"slices"
	"strings"
	"testing"
)

// The fields of a secret: where one can stand, and where none can.
func TestSecretHeader(t *testing.T) {
	for header, want := range map[string]string{
		`"Authorization"`: "", `"X-My-Token"`: "", `["X-One", "Cookie"]`: "",
		`""`: "header is empty", `[]`: "header is empty", `"a b"`: "write the name of a header field", `"X:"`: "write the name", `"X-\u00e4"`: "write the name", `"Host"`: "says where a request goes", `"x-forwarded-Host"`: "says where a request goes",
		`"X_Original_URL"`: "says where a request goes", `"Proxy-Authorization"`: "says where a request goes", `"Content-Length"`: "where it ends", `1`: "must be a string",
	} {
		text := api + `{ env = "T", header = ` + header + " }\n"
		c, err := Decode([]byte(text), "c.toml")
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", header, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		again, err := Decode(c.Encode(), "c.toml")
		if err != nil || !slices.Equal(again.Servers["s"].Access.Net[0].Secrets[0].Header, c.Servers["s"].Access.Net[0].Secrets[0].Header) {
			t.Errorf("%s: %v, %s", header, err, c.Encode())
		}
	}
}
