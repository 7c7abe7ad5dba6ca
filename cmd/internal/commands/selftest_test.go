package commands

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSelfTestText tests what doctor says of the self-test: nothing without one, what failed first, and
// how to waive it where that can be.
func TestSelfTestText(t *testing.T) {
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	for _, k := range []struct {
		name, result string
		want, not    []string
	}{
		{"none on this system", `{}`, nil, nil},
		{"no result", `{"why":"no space left"}`, []string{"has no result, and no server starts", "no space left"}, nil},
		{"passed", `{"made":true,"passed":[{"id":"R1","what":"what is granted can be read"}]}`, []string{"has passed"}, []string{"R1", "--waive"}},
		{"failed", `{"made":true,"failed":[{"id":"R2","axis":"fs","what":"what is not granted cannot be read","got":"read u/file: works, not EPERM"}],
			"passed":[{"id":"R1","what":"what is granted can be read"}]}`,
			[]string{"R2: this does not hold: what is not granted cannot be read", "read u/file: works, not EPERM", "--waive fs"}, []string{"nothing can waive"}},
		{"fatal", `{"made":true,"failed":[{"id":"S1","axis":"process","fatal":true,"what":"a program starts in a jail","got":"x"}]}`,
			[]string{"No server starts, and you cannot accept that"}, []string{"--waive"}},
		{"fatal with other parts", `{"made":true,"failed":[{"id":"S1","axis":"process","fatal":true,"what":"a program starts in a jail","got":"x"},{"id":"S2","axis":"process","fatal":true,"what":"z","got":"no answer"},{"id":"R2","axis":"fs","what":"y","got":"no answer"}],
			"passed":[{"id":"F6","what":"w"}]}`,
			[]string{"S1: ", "S2: ", "R2: "}, []string{"F6"}},
	} {
		var r confine.SelfTest
		testkit.Must(t, json.Unmarshal([]byte(k.result), &r))
		got := selfTestText(c, r)
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
	}
}
