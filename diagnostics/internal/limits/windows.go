package limits

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
)

// windowsWords are the messages of runtimes on Windows, in lower case, as limitWords has those of other
// systems. Windows does not promise to tell of a limit, so words count here even where nothing was told.
var windowsWords = []struct {
	key, show   string
	most        int // for limits up to this; 0: for all
	words, with []string
}{
	{report.KeyProcesses, "error 1816", 0, []string{"not enough quota is available", "winerror 1816", "os error 1816)"}, nil},
	{report.KeyProcesses, "UNKNOWN", 0, []string{" unknown"}, []string{"spawn "}}, // node has no other name for 1816
	{report.KeyProcesses, "error 367", 1, []string{"winerror 367", "os error 367)", "process creation has been blocked"}, nil},
	{report.KeyProcesses, "error 5", 1, []string{"eperm", "winerror 5]", "os error 5)", "access is denied"}, []string{"spawn", "createprocess", "subprocess", "popen", "fork/exec"}},
	{report.KeyMemory, "error 1455", 0, []string{"paging file is too small", "winerror 1455", "os error 1455)", "errno=1455"}, nil},
	{report.KeyMemory, "no memory", 0, []string{"runtime: out of memory", "process out of memory", "memoryerror", "std::bad_alloc", "insufficient memory for the java"}, nil},
}

// noMemory are the statuses of programs that Windows or their runtime ended for lack of memory:
// STATUS_NO_MEMORY and STATUS_COMMITMENT_LIMIT.
var noMemory = map[int]bool{0xC0000017: true, 0xC000012D: true}

func AnalyzeWindows(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, l := range windowsWords {
			value := limit(c, l.key)
			if value <= 0 || l.most > 0 && value > l.most || !words.ContainsAny(lower, l.words) || l.with != nil && !words.ContainsAny(lower, l.with) {
				continue
			}
			f := Raise(c, l.key)
			f.Note = c.ServerSaid(line) + ", and reaching the limit " + l.key + " = " + strconv.Itoa(value) + " looks like this (" + l.show + ")"
			return f, true
		}
	}
	if e := c.Evidence.Exit; e != nil && noMemory[e.Code] && limit(c, report.KeyMemory) > 0 {
		f := Raise(c, report.KeyMemory)
		f.Note = "it ended for lack of memory, which happens when its processes use more than memory_mb = " + strconv.Itoa(limit(c, report.KeyMemory))
		f.Fix = "it may need more memory"
		return f, true
	}
	return f, false
}
