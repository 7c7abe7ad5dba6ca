package diagnose

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// happened sets what happened.
func happened(d *diagnostics.Diagnosis, ev *diagnostics.Evidence) {
	switch {
	case ev.Stage != diagnostics.StageCall || ev.Waiting || ev.Timeout > 0 || ev.Exit != nil:
	case onlyDenials(ev):
		d.Answered = true
		d.Happened("the jail blocked something during the call of "+show.InSentence(ev.Tool), "")
		return
	case ev.Tool != "":
		d.Happened(show.InSentence(ev.Tool), " failed")
		return
	}
	d.What = summary(ev)
}

func summary(ev *diagnostics.Evidence) string {
	server := diagnostics.Who(ev.Server)
	switch ev.Stage {
	case diagnostics.StageExec:
		if ev.Start != nil && ev.Start.Step != diagnostics.StepExec {
			return server + " was not started"
		}
		return server + " could not be started"
	case diagnostics.StageStartup:
		if ev.Waiting {
			return server + " has not answered yet"
		}
		if ev.Started {
			return server + " has started, and complains on stderr"
		}
		if ev.Timeout > 0 {
			return server + " gave no answer within " + seconds(ev.Timeout) + " of its start"
		}
		return server + " ended before its first answer" + ending(ev.Exit)
	}
	during := ""
	switch {
	case ev.Tool != "":
		during = " during the call of " + show.InSentence(ev.Tool)
	case ev.Method != "":
		during = " during " + show.Quote(ev.Method)
	}
	switch {
	case ev.Waiting:
		return server + " has not answered yet" + during
	case ev.Timeout > 0:
		return server + " gave no answer within " + seconds(ev.Timeout) + during
	case ev.Exit != nil:
		return server + " ended" + during + ending(ev.Exit)
	case ev.Method != "":
		return server + " failed" + during
	}
	return server + " failed"
}

// onlyDenials reports whether the call succeeded although the jail refused something.
// stderr is then unrelated.
func onlyDenials(ev *diagnostics.Evidence) bool {
	return ev.Stage == diagnostics.StageCall && ev.Tool != "" && ev.Exit == nil && ev.Timeout == 0 && ev.Start == nil &&
		len(ev.Denials) > 0 && len(ev.Unanswered) == 0 && strings.TrimSpace(ev.Text) == ""
}

func ending(e *diagnostics.Exit) string {
	if e == nil {
		return ""
	}
	if name := analysis.SignalName(e.Signal); name != "" {
		return " (" + name + ")"
	}
	if e.Code >= 0x80000000 { // of Windows, which numbers its faults so
		return " (exit status 0x" + strings.ToUpper(strconv.FormatInt(int64(e.Code), 16)) + ")"
	}
	return " (exit status " + strconv.Itoa(e.Code) + ")"
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return d.Round(time.Millisecond).String()
}
