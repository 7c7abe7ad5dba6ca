package said

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

var (
	// noise are lines of a failure that do not say what failed: frames of stack traces, excerpts of the
	// source, and what runtimes and tools add at the end.
	noise = lazy.Regexp(`^(?:` +
		`at |File "|node:internal|goroutine \d|from \S+:\d+:in |#\d+ |\.\.\. \d+ (?:more|common|levels)|--- End of |--- Stack|suppressed by ` + // frames
		`|\d+: +(?:0x[0-9a-f]+ - )?[\w<{$][\w:<>{}$.&\[\] ]*::|created by |thrown in |in .+ on line \d+$|\[signal |stack backtrace:|stack traceback:|Stack trace:` +
		`|Traceback \(most recent|During handling of the above|The above exception was|\[Previous line repeated` +
		`|\d+ +\| |\|$|[\^~\s]+$|[-+=*_]{3,}$|[{}()\[\],;:'"|+.\s-]*$` + // excerpts, carets, rules, brackets
		`|Node\.js v\d|Bun v\d|Deno \d|note: run with |note: Some details are omitted|\(Use .node --trace` +
		`|exit status \d+$|error Command failed|error: script .* exited with|error: "[^"]*" exited with|make(?:\[\d+\])?: \*\*\*|info Visit https://yarn` +
		`|npm (?:error|ERR!) (?:A complete log|code |errno |syscall |path |command |\s)|npm (?:error|ERR!)$|npm notice` +
		`|Require stack:|Emitted 'error' event|triggerUncaughtException|throw (?:err|er);` +
		`)`)
	// seeHelp are hints at a help text.
	seeHelp = lazy.Regexp(`(?i)^(?:please )?(?:run|see|try|use|type|for (?:more )?(?:help|information|details))\b.*(?:--help|-h\b|\bhelp\b)`)
	// errorHead are lines in which runtimes say what failed, before or after its trace.
	errorHead = lazy.Regexp(`^(?:` +
		`(?:Uncaught |Unhandled |error: |panic: |\[cause\]: |\[errors?\]: |--->? |Caused by: |Exception in thread .*|Unhandled [eE]xception[.:] ?)*(?:[\w$]+[.:/]+)*\w*(?:Error|Exception|Failure|Panic|Interrupt)(?: \[\w+\])?(?::|$)` +
		`|(?:Uncaught|Unhandled [eE]xception[.:]|\[cause\]:|---> |Caused by:|Exception in thread) ?\S` +
		`|(?:panic|fatal error|fatal|FATAL|runtime error): |thread '.*' (?:\(\d+\) )?panicked at ` +
		`|(?:PHP )?(?:Fatal|Parse|Recoverable fatal) error: |error(?:\[\w+\])?: |ERROR: |\*\* \(\w` +
		`|\S+: error: |docker: ` +
		`)`)
	// rubyHead: /x.rb:3:in `foo': message (RuntimeError)
	rubyHead = lazy.Regexp(`^\S+:\d+:in [` + "`" + `'].*: .+ \([A-Z]\w*(?:::\w+)*\)$`)
	// goFrame is the second line of a frame of Go.
	goFrame = lazy.Regexp(`^\s+/?\S+\.(?:go|s):\d+`)
	// pythonName is the beginning of the line that names an exception of Python.
	pythonName = lazy.Regexp(`^[A-Za-z_][\w.]*(?::|$)`)
	// groupMargin is what Python draws before the lines of a group of exceptions.
	groupMargin = lazy.Regexp(`^\s*[|+](?:[-+| \d]*[|+-])?(?: |$)`)
	// rustPlace: thread 'main' panicked at src/main.rs:3:5:
	rustPlace = lazy.Regexp(`panicked at \S+:\d+:\d+:$`)
)

// failureWords, in lower case, are in most lines that say why a program ends.
var failureWords = []string{
	"error", "fatal", "panic", "exception", "fail", "cannot", "can't", "could not", "couldn't", "unable", "not ", "no ", "missing",
	"invalid", "required", "require", "denied", "refused", "unknown", "unexpected", "unsupported", "abort", "must", "n't ", "expected", "timed out", "timeout",
}

const (
	maxFurther = 400 // lines that belong to the text of a message, and are passed on the way to it
	maxBefore  = 8   // lines before the last one that says something, where that says no failure
	maxMessage = 60  // lines of an exception's message
)

// ErrorLine returns the index of the line that says what failed, in the lines that a program wrote
// before its end; -1 if there is none. It passes stack traces and the like. If no line looks like an
// error, it is the last line that is no noise.
func ErrorLine(lines []string) int {
	weak, plain := -1, -1 // a line of a message's further text; the last line that may say anything
	for i, further, before := len(lines)-1, 0, 0; i >= 0 && further < maxFurther && before < maxBefore; i-- {
		text, indented := bare(lines[i])
		if isNoise(lines, i, text) {
			continue
		}
		if plain >= 0 {
			before++
		}
		switch {
		case isHead(text):
			return pastHead(lines, i, text)
		case indented, strings.HasSuffix(text, ":"), strings.HasPrefix(text, "- "), strings.HasPrefix(text, "→"):
			if further++; weak < 0 {
				weak = i
			}
			continue
		}
		if head := exceptionBefore(lines, i); head >= 0 {
			return head
		}
		if ContainsAny(strings.ToLower(text)+" ", failureWords) {
			return i
		}
		if plain < 0 {
			plain = i
		}
	}
	if plain >= 0 {
		return plain
	}
	return weak
}

// ErrorText returns the text of the line at ErrorLine, with the lines after it where the line only
// announces them; "" if there is none.
func ErrorText(lines []string) string {
	at := ErrorLine(lines)
	if at < 0 {
		return ""
	}
	text, _ := bare(lines[at])
	for more := 0; more < 2 && at+1 < len(lines) && (strings.HasSuffix(text, ":") || more > 0 || strings.Contains(text, " validation error")); more++ {
		at++
		next, _ := bare(lines[at])
		if isNoise(lines, at, next) {
			break
		}
		text += " " + next
	}
	return text
}

// Ending returns the last n lines. If the line that says what failed is above them, it is the first.
func Ending(lines []string, n int) []string {
	last := lines[max(0, len(lines)-n):]
	if at := ErrorLine(lines); at >= 0 && at < len(lines)-n {
		last = append([]string{lines[at]}, last[1:]...)
	}
	return last
}

// bare returns a line without escape sequences, margin and indentation, and whether it had one.
func bare(line string) (text string, indented bool) {
	line = show.Bare(show.Cut(line, maxLine))
	if strings.ContainsAny(line, "|+") {
		line = line[len(groupMargin().FindString(line)):]
	}
	text = strings.TrimSpace(line)
	return text, text != "" && (line[0] == ' ' || line[0] == '\t')
}

func isNoise(lines []string, i int, text string) bool {
	if len(text) < minLine || noise().MatchString(text) || seeHelp().MatchString(text) || show.Imitates(text) {
		return true
	}
	// Go writes the function before its place; the place is noise for itself.
	return goFrame().MatchString(lines[i]) || strings.HasSuffix(text, ")") && i+1 < len(lines) && goFrame().MatchString(lines[i+1])
}

func isHead(text string) bool { return errorHead().MatchString(text) || rubyHead().MatchString(text) }

// pastHead returns the line of the message, which Rust writes below the head.
func pastHead(lines []string, i int, text string) int {
	if rustPlace().MatchString(text) && i+1 < len(lines) {
		if next, _ := bare(lines[i+1]); !isNoise(lines, i+1, next) {
			return i + 1
		}
	}
	return i
}

// exceptionBefore returns the line that names an exception of Python whose message has line i, or -1.
// It comes after the frames.
func exceptionBefore(lines []string, i int) int {
	for j := i; j > 0 && j > i-maxMessage; j-- {
		if text, indented := bare(lines[j]); indented || !pythonName().MatchString(text) {
			continue
		}
		for k := j - 1; k >= 0 && k >= j-4; k-- {
			above, deep := bare(lines[k])
			if strings.HasPrefix(above, "File \"") {
				return j
			}
			if !deep {
				break
			}
		}
	}
	return -1
}
