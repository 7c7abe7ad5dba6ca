package diagnostics

import (
	"strings"
	"testing"
)

// TestMention: a path in the text of a failure counts with any words around it, if it exists on the
// host and is not granted. It is likely the cause if its line tells of a failure, and else possible.
func TestMention(t *testing.T) {
	chrome := "/home/u/.cache/ms-playwright/chromium-1/chrome-linux/chrome"
	inJail := privateHome + strings.TrimPrefix(chrome, "/home/u")
	for _, tt := range []struct {
		name, text, flags string
		sure              Attribution
	}{
		{"an expected executable", `Browser "chrome-for-testing" is not installed; expected executable at ` + inJail + ". Run npx @playwright/mcp install-browser", "--execute ~/.cache/ms-playwright", Likely},
		{"by its real path", `Browser "chrome-for-testing" is not installed; expected executable at ` + chrome, "--execute ~/.cache/ms-playwright", Likely},
		{"Playwright", "browserType.launch: Executable doesn't exist at " + inJail, "--execute ~/.cache/ms-playwright", Likely},
		{"a program with its data", "Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome", "--execute /opt/google/chrome", Likely},
		{"a program with its libraries", "cannot start /opt/jdk/bin/java", "--execute /opt/jdk", Likely},
		{"keys", "Error: no keys in " + privateHome + "/.thing/keys.json", "--read ~/.thing/keys.json", Likely},
		{"the line before", "sign in first\nkeys: ~/.thing/keys.json\n", "--read ~/.thing/keys.json", Possible},
		{"the line beside", "Error: sign in first\nkeys: ~/.thing/keys.json\n", "--read ~/.thing/keys.json", Likely},
		{"granted", "Error: bad entry in /home/u/work/out.txt", "", None},
		{"missing", "Error: bad entry in /home/u/nowhere/x", "", None},
		{"of the system", "Error: bad entry in /etc/shadow", "", None},
		{"the home", "Error: started in /home/u", "", None},
		{"a frame of a stack", "boom\nat main (/home/u/notes/a.md:1:2)", "", None},
		{"another cause", "open /home/u/docs: no such file or directory\nkeys: ~/.thing/keys.json", "--read ~/docs", Likely},
		{"a refusal by a list", "Access denied - path outside allowed directories: /home/u/notes/a.md", "", None},
		{"sensitive", "Error: no profile in ~/.aws/credentials", "", Likely},
	} {
		ev := inPrivateHome(tt.text)
		exists := ev.Exists
		ev.Exists = func(p string) bool {
			return exists(p) || host{"/opt/google/chrome/chrome": true, "/opt/google/chrome/icudtl.dat": true, "/opt/jdk/bin/java": true, "/opt/jdk/lib/x": true, "/etc/shadow": true}.exists(p)
		}
		ev.Executable = func(p string) bool { return strings.HasSuffix(p, "/chrome") || strings.HasSuffix(p, "/java") }
		d := Diagnose(ev)
		if got := strings.Join(d.Words, " "); got != tt.flags || d.Attribution != tt.sure {
			t.Errorf("%s: %v, flags %q, want %v, %q\n%s", tt.name, d.Attribution, got, tt.sure, tt.flags, d.Text())
		}
	}
}
