package sandboxlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxDenials = 200     // different ones of one answer
	maxTarget  = 4096    // bytes of an argument
	maxLine    = 1 << 18 // bytes of a line of the log
)

// Parse returns the denials in the output of `log show --style ndjson` whose message the kernel wrote and ends with tag.
// They are in the order of the log. Those that differ in the time only are counted as one.
func Parse(output []byte, tag string) []policy.Denial {
	var all []policy.Denial
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var entry struct {
			Message   string `json:"eventMessage"`
			Timestamp string `json:"timestamp"`
			Process   int    `json:"processID"`
		}
		// Each program may write to the log, and name itself or a library like the kernel's part.
		if json.Unmarshal(lines.Bytes(), &entry) != nil || entry.Process != 0 {
			continue
		}
		message, tagged := untagged(entry.Message, tag)
		if !tagged {
			continue
		}
		d, ok := parseMessage(message)
		if !ok {
			continue
		}
		d.Time = parseTime(entry.Timestamp)
		all = count(all, d)
	}
	return all
}

// untagged returns the message without the tag, which the profile puts on the last line. A tag in
// any other place is not the profile's: a server can name a file so.
func untagged(message, tag string) (string, bool) {
	message = strings.TrimRight(message, "\n")
	at := strings.LastIndexByte(message, '\n')
	if tag == "" || at < 0 || message[at+1:] != tag {
		return "", false
	}
	return message[:at], true
}

// parseMessage reads "Sandbox: NAME(PID) deny(1) OPERATION ARGUMENT", also after "N duplicate
// reports for ". The argument may be missing.
func parseMessage(message string) (policy.Denial, bool) {
	times := 1
	if before, rest, ok := strings.Cut(message, " for Sandbox: "); ok {
		number, what, _ := strings.Cut(before, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || what != "duplicate report" && what != "duplicate reports" {
			return policy.Denial{}, false
		}
		times, message = n, "Sandbox: "+rest
	}
	message, ok := strings.CutPrefix(message, "Sandbox: ")
	if !ok {
		return policy.Denial{}, false
	}
	subject, refused, ok := strings.Cut(message, ") deny(")
	if !ok {
		return policy.Denial{}, false
	}
	open := strings.LastIndexByte(subject, '(') // a program's name may have one
	if open < 0 {
		return policy.Denial{}, false
	}
	pid, err := strconv.Atoi(subject[open+1:])
	if err != nil || pid < 1 {
		return policy.Denial{}, false
	}
	_, refused, ok = strings.Cut(refused, ") ")
	if !ok {
		return policy.Denial{}, false
	}
	operation, argument, _ := strings.Cut(refused, " ")
	d, ok := newDenial(operation, argument)
	d.PID, d.Program, d.Count = pid, subject[:open], times
	return d, ok
}

// parseTime returns the zero time for what is none: such a denial belongs to no call.
func parseTime(s string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05.999999-0700", time.RFC3339Nano} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}

func count(all []policy.Denial, d policy.Denial) []policy.Denial {
	same := func(o policy.Denial) bool {
		return o.Axis == d.Axis && o.Operation == d.Operation && o.Target == d.Target && o.Program == d.Program
	}
	if at := slices.IndexFunc(all, same); at >= 0 {
		o := &all[at]
		o.Count += d.Count
		if d.Time.After(o.Latest()) {
			o.Last, o.PID = d.Time, d.PID
		}
		return all
	}
	if len(all) == maxDenials {
		return all
	}
	return append(all, d)
}
