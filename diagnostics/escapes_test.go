package diagnostics

import (
	"strings"
	"testing"
)

// TestNameWithEscape checks that a name with an escape sequence inside leads to no line, because
// without the sequence it names something else, and that sequences around a name do no harm.
func TestNameWithEscape(t *testing.T) {
	for _, format := range []string{
		"EACCES: permission denied, open '/home/u/no%stes/a.md'",
		"[Errno 13] Permission denied: '/home/u/notes%s/a.md'",
		"open /home/u/not%ses/a.md: permission denied",
		"cat: /home/u/notes/a%s.md: Permission denied",
		"PermissionDenied (/home/u/notes%s/a.md)",
		"Permission denied @ rb_sysopen - /home/u/notes/%sa.md",
		"cannot read /home/u/notes/%sa.md\nCaused by: permission denied (os error 13)",
		"getaddrinfo ENOTFOUND api.x%s.com",
		"getaddrinfo ENOTFOUND api.%sx.com",
		"connect to host api.x.com port 84%s43: connection refused",
		"FOO_%sTOKEN environment variable is required",
		"spawn r%sg ENOENT",
		"access denied - path outside allowed directories: /home/u/no%stes/a.md",
	} {
		for _, seq := range []string{"\x1b]0;P\a", "\x1b[31m", "\x1b[K", "\u009b2J", "\x1b(B", "\x1b]0;/home/u/notes/a.md\a"} {
			diagnose := func(text string) Diagnosis {
				ev := evidence(text)
				ev.Roots = []string{"/home/u/notes"}
				return Diagnose(ev)
			}
			if d := diagnose(strings.Replace(format, "%s", seq, 1)); len(d.Words) > 0 {
				t.Errorf("%q with %q: %q", format, seq, d.Words)
			}
			if d := diagnose("\x1b[31m" + strings.Replace(format, "%s", "", 1) + "\x1b[39m"); len(d.Words) == 0 {
				t.Errorf("%q in colour: no line (%s)", format, d.Cause)
			}
		}
	}
	if d := Diagnose(evidence("\x1b[31merror\x1b[0m: EACCES, open \x1b[2m'\x1b[32m/home/u/notes/a.md\x1b[39m'\x1b[0m")); len(d.Words) == 0 {
		t.Errorf("colours around a name: no line (%s)", d.Cause)
	}
}
