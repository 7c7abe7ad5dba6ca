package terminal

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y pg postgresql://u:pw1234@localhost/db": "npx -y pg postgresql://u:***@localhost/db",
		"npx x --api-key abc --port 5":                 "npx x --api-key *** --port 5",
		"npx x --API_TOKEN=abc -k v":                   "npx x --API_TOKEN=*** -k v",
		"npx x --db_password abc":                      "npx x --db_password ***",
		"npx x --access-token=abc":                     "npx x --access-token=***",
		"npx x --tokens --port 5":                      "npx x --tokens --port 5",
		"https://host/path@1":                          "https://host/path@1",
		"env A_API_TOKEN=abc PORT=5 npx x":             "env A_API_TOKEN=*** PORT=5 npx x",
		"env GITHUB_PAT=abc DB_PASS=d PATH=/b npx x":   "env GITHUB_PAT=*** DB_PASS=*** PATH=/b npx x",
		"npx x --header X-Api-Key:abc":                 "npx x --header X-Api-Key:***",
		"npx x --url=https://h/?api_key=abc":           "npx x --url=https://h/?api_key=***",
		"npx x --keyboard=de -Dx.token=abc":            "npx x --keyboard=de -Dx.token=***",
	} {
		if got := strings.Join(ShownWords(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestShownInOneWord: a whole command line in one word is shown without its secrets, too.
func TestShownInOneWord(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y pkg --api-key abc":        "npx -y pkg --api-key ***",
		"a a --key a a":                   "a a --key *** a",
		`x --token='a1' "--key=b1" 'c'`:   `x --token=*** "--key=***" 'c'`,
		"x  postgres://u:pw1@h/db --y":    "x  postgres://u:***@h/db --y",
		"ends with a --token":             "ends with a --token",
		"export TOKEN=abc && x --port 80": "export TOKEN=*** && x --port 80",
		"cd /x&&A_TOKEN=abc exec x":       "cd /x&&A_TOKEN=*** exec x",
		`TOKEN='a b' x "it's"`:            `TOKEN=*** x "it's"`,
		"Authorization: Bearer abc":       "Authorization: Bearer ***",
		"Authorization: abc":              "Authorization: ***",
		"X-Api-Key: abc":                  "X-Api-Key: ***",
		`it's --token a`:                  `it's --token ***`,
		`a"b c" d`:                        `a"b c" d`,
	} {
		if got := ShownWords([]string{"sh", "-c", line})[2]; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestSecrets: what ShownWords hides is what SecretWords returns.
func TestSecrets(t *testing.T) {
	argv := []string{"env", "A_TOKEN=a1", "sh", "-c", `B_KEY="b 1" x --password c1 https://u:d1@h`, "--header", "Authorization: Bearer e1"}
	if got := strings.Join(SecretWords(argv), ","); got != "a1,b 1,c1,d1,e1" {
		t.Error(got)
	}
}
