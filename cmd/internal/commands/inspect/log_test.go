package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
)

// TestLogSaysWhatIsKnown: of a log with gaps, the pages of its sessions say no more than its lines do.
func TestLogSaysWhatIsKnown(t *testing.T) {
	const (
		start = `"event":"start","mcp_jail.undo":"session"`
		call  = `"event":"call","gen_ai.tool.name":"close"`
		end   = `"event":"end","by":"client","omitted":0`
		grant = `"event":"grant","by":"grant","taken":false,"rules":["--net a.example"]`
		taken = `"event":"grant","by":"grant","taken":true,"rules":["--net a.example"]`
	)
	for name, row := range map[string]struct {
		lines  []string // each is the session and the rest
		broken int
		runs   bool
		want   []string // of each page
		not    string
	}{
		"whole":                {[]string{"a" + start, "a" + end}, 0, false, []string{"none changed where undo looks"}, "not known"},
		"killed":               {[]string{"a" + start}, 0, false, []string{"or later: mcp-jail was killed"}, "still running"},
		"one of two runs":      {[]string{"a" + start, "b" + start}, 0, true, []string{"still running, or mcp-jail was killed", "still running, or mcp-jail was killed"}, "or later"},
		"one of two has ended": {[]string{"a" + start, "a" + end, "b" + start}, 0, true, []string{"ended by its client", "still running, or mcp-jail was killed"}, "or later"},
		"no start":             {[]string{"a" + call, "a" + end}, 0, false, []string{"not known, because lines are missing"}, "undo is off"},
		"a broken line":        {[]string{"a" + start, "a" + end}, 1, false, []string{"not known, because lines are missing"}, "none changed"},
		"a grant before":       {[]string{"x" + grant, "a" + start, "a" + end}, 0, false, []string{"before the first session of the log\n  allowed", "none changed where undo looks"}, "killed"},
		"a grant alone":        {[]string{"x" + grant, "y" + grant}, 0, true, []string{"before the first session of the log\n  allowed"}, "files"},
		"a grant after":        {[]string{"a" + start, "a" + end, "x" + grant}, 0, false, []string{"by grant"}, "before"},
		"taken back":           {[]string{"a" + start, "a" + end, "x" + taken}, 0, false, []string{"  taken "}, "allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines [][]byte
			lines = slices.Repeat([][]byte{[]byte(`{"time":"2026`)}, row.broken)
			for _, l := range row.lines {
				lines = append(lines, []byte(`{"time":"2026-11-29T10:02:11.184Z","mcp.session.id":"`+l[:1]+`",`+l[1:]+`}`))
			}
			all, broken := sessions(&index.Server{Name: "kept"}, lines, row.runs)
			if len(all) != len(row.want) || broken != row.broken {
				t.Fatalf("%d sessions, %d broken", len(all), broken)
			}
			for i, s := range all {
				if page := s.page("/home/u"); !strings.Contains(page, row.want[i]) || strings.Contains(page, row.not) {
					t.Errorf("%s", page)
				}
			}
		})
	}
}
