package doctorcmd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

// TestSelfTestText tests what doctor says of the self-test: nothing without one, what failed first, and
// how to waive it where that can be.
func TestSelfTestText(t *testing.T) {
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	for _, k := range []struct {
		name, result string
		all          bool
		want, not    []string
	}{
		{"none on this system", `{}`, true, nil, nil},
		{"no result", `{"proof":{"why":"no space left"}}`, false, []string{"has no result, and no server starts", "no space left"}, nil},
		{"passed", `{"proof":{"made":true},"probes":[{"id":"R1a","try":"read g/file","got":"works","verdict":"passed"}]}`, false, []string{"has passed"}, []string{"R1a", "--waive"}},
		{"passed, all", `{"proof":{"made":true},"probes":[{"id":"R1a","try":"read g/file","got":"works","verdict":"passed"}]}`, true, []string{"R1a", "read g/file: works"}, nil},
		{"failed", `{"proof":{"made":true,"failed":[{"id":"R2","axis":"fs","what":"what is not granted cannot be read","got":"read u/file: works, not EPERM"}]},
			"probes":[{"id":"R1a","verdict":"passed"},{"id":"R2a","verdict":"failed"}]}`, true,
			[]string{"R2: this does not hold: what is not granted cannot be read", "read u/file: works, not EPERM", "--waive fs"}, []string{"nothing can waive"}},
		{"fatal", `{"proof":{"made":true,"failed":[{"id":"S1","axis":"process","fatal":true,"what":"a program starts in a jail","got":"x"}]}}`, false,
			[]string{"No server starts, and nothing can waive that"}, []string{"--waive", "--verbose"}},
		{"fatal with others", `{"proof":{"made":true,"failed":[{"id":"S1","axis":"process","fatal":true,"what":"a program starts in a jail","got":"x","fix":"report this with the output of mcp-jail doctor"},{"id":"S2","axis":"process","fatal":true,"what":"z","got":"no answer"},{"id":"R2","axis":"fs","what":"y","got":"no answer"}]},
			"probes":[{"id":"F6a","try":"create","got":"no answer","verdict":"failed"}]}`, false,
			[]string{"S1: ", "To mend it: report this with all that is printed here.", "2 more failed: --verbose lists them"}, []string{"S2", "R2", "F6a", "--waive"}},
		{"fatal with others, all", `{"proof":{"made":true,"failed":[{"id":"S1","axis":"process","fatal":true,"what":"a program starts in a jail","got":"x"},{"id":"R2","axis":"fs","what":"y","got":"no answer"}]}}`, true,
			[]string{"S1: ", "R2: ", "--waive fs"}, []string{"--verbose"}},
	} {
		var r confine.SelfTest
		if err := json.Unmarshal([]byte(k.result), &r); err != nil {
			t.Fatal(err)
		}
		got := selfTestText(c, r, k.all)
		if k.want == nil && got != "" {
			t.Errorf("%s: %q", k.name, got)
		}
		for _, w := range k.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in:\n%s", k.name, w, got)
			}
		}
		for _, w := range k.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q is in:\n%s", k.name, w, got)
			}
		}
		if i, j := strings.Index(got, "R2a"), strings.Index(got, "R1a"); k.name == "failed" && (i < 0 || j < i) {
			t.Errorf("%s: the probe that failed is not the first:\n%s", k.name, got)
		}
	}
}
