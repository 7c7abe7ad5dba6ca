package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// trial is what the sessions under one policy that is tried (run --try) have of it.
type trial struct {
	policy   string
	file     string // "" for flags
	since    time.Time
	sessions int
	refusals []diagnostics.Refusal // by tool, each with its count
	unjudged []string
	left     int
}

// findTrial returns what the policy that the last session tried would have refused, in all sessions since it
// is tried. ok is false if that session tried none.
func findTrial(host hostfs.Host, server string) (t trial, ok bool) {
	if t.policy = records.ReadAbout(host, server).Tried; t.policy == "" {
		return t, false
	}

	all, err := observed.Sessions(host, server)
	if err != nil {
		return t, false
	}
	digest := ""
	at := map[string]int{}
	for _, s := range slices.Backward(all) {
		if s.Learns {
			continue
		}
		if !ok {
			digest, ok = s.Digest, true
		}
		if s.Policy != t.policy || s.Digest != digest {
			break
		}
		t.since, t.left = s.Began, t.left+s.Left
		t.sessions++
		for _, why := range s.Unjudged {
			if !slices.Contains(t.unjudged, why) {
				t.unjudged = append(t.unjudged, why)
			}
		}
		for _, r := range s.Refusals {
			if i, known := at[r.Key()]; known {
				t.refusals[i].Count += r.Count
				continue
			}
			at[r.Key()], t.file = len(t.refusals), r.File
			t.refusals = append(t.refusals, r)
		}
	}
	slices.SortStableFunc(t.refusals, func(a, b diagnostics.Refusal) int { return strings.Compare(a.Tool, b.Tool) })
	return t, ok
}

const maxShownTried = 60 // refusals of one text

// text returns the section of why about a server.
func (t trial) text(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nTried and not in force (--try): %s, in %s since %s\n", show.Line(t.policy), cli.Plural(t.sessions, "session"), t.since.Local().Format(time.DateTime))
	if len(t.refusals) == 0 {
		b.WriteString("  it would have refused nothing\n")
	}
	tool, lines := "", []string{}
	for i, r := range t.refusals {
		if i == maxShownTried {
			fmt.Fprintf(&b, "  and %d others: --format json has them\n", len(t.refusals)-i)
			break
		}
		if i == 0 || r.Tool != tool {
			tool = r.Tool
			heading := "outside of calls"
			if tool != "" {
				heading = show.Name(tool)
			}
			b.WriteString("  " + heading + ":\n")
		}
		times := ""
		if r.Count > 1 {
			times = fmt.Sprintf("  (%d times)", r.Count)
		}
		b.WriteString("    " + show.Line(r.Cause) + times + "\n")
		more := r.Grant
		if t.file == "" {
			more = nil
			if len(r.Flags) > 0 {
				more = []string{strings.Join(r.Flags, " ")}
			}
		}
		if text := strings.Join(more, "\n"); text != "" && !slices.Contains(lines, text) {
			lines = append(lines, text)
		} else if r.Fix != "" && text == "" {
			b.WriteString("      " + show.Line(r.Fix) + "\n")
		}
	}
	t.writeLines(&b, lines)
	if command, ok := show.TypedOK("mcp-jail grant", name); ok {
		b.WriteString("  make it the policy of the server, if an entry of a client tries it: " + command + " --tried\n")
	}
	for _, why := range t.unjudged {
		b.WriteString("  not judged: " + show.Line(why) + "\n")
	}
	if t.left > 0 {
		fmt.Fprintf(&b, "  not judged, because there was too much at once: %s\n", cli.Plural(t.left, "observation"))
	}
	return b.String()
}

func (t trial) writeLines(b *strings.Builder, lines []string) {
	switch {
	case len(lines) == 0:
	case t.file == "":
		b.WriteString("  flags that would grant it, for --try: " + strings.Join(lines, " ") + "\n")
	default:
		b.WriteString("  lines that would grant it, for " + show.Line(t.file) + ":\n")
		for _, l := range lines {
			b.WriteString("    " + strings.ReplaceAll(l, "\n", "\n    ") + "\n")
		}
	}
}
