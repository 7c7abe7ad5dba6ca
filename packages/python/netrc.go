package python

import (
	"slices"
	"strings"
)

// Netrc returns the part of a netrc file that has the logins of some hosts, in the form of
// such a file. Entries for all hosts ("default") and macros are left out. A password with
// quotes or spaces is not understood, and its entry is left out.
func Netrc(text string, hosts []string) string {
	var out strings.Builder
	var words []string
	for line := range strings.Lines(text) {
		if before, _, ok := strings.Cut(line, " #"); ok {
			line = before
		}
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "machine" || !slices.Contains(hosts, words[i+1]) {
			continue
		}
		entry, ok := "machine "+words[i+1], true
		for i += 2; i+1 < len(words) && slices.Contains([]string{"login", "password", "account"}, words[i]); i += 2 {
			entry += " " + words[i] + " " + words[i+1]
			ok = ok && !strings.ContainsAny(words[i+1], `"\`)
		}
		if i--; ok {
			out.WriteString(entry + "\n")
		}
	}
	return out.String()
}
