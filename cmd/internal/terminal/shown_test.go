package terminal

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestWords(t *testing.T) {
	for line, want := range testkit.Named[string](t, "words.txt") {
		if got := strings.Join(ShownWords(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestShownInOneWord: a whole command line in one word is shown without its secrets, too.
func TestShownInOneWord(t *testing.T) {
	for line, want := range testkit.Named[string](t, "one-word.txt") {
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
