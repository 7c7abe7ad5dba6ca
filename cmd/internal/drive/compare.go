package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Difference is an answer that says something else than the one that was expected.
type Difference struct {
	Request Request
	Was, Is string // what differs, in short; "" if it is nothing
}

// Expected are the answers of two sessions under the same policy. What differs between the two is no
// difference of a third one.
type Expected struct{ First, Again *Played }

// Compare returns which answers of a session say something else than expected. Answers that are missing because it
// was stopped are no difference.
func (e Expected) Compare(got *Played) (all []Difference) {
	for i, was := range e.First.Answers {
		if i >= len(got.Answers) {
			if got.Stopped {
				return all
			}
			d := Difference{Request: was.Request, Was: brief(was), Is: "no answer"}
			if got.Broken != nil {
				d.Is += ": " + got.Broken.Error()
			}
			return append(all, d) // nor to the others
		}
		if d, same := e.CompareAt(i, got.Answers[i]); !same {
			all = append(all, d)
		}
	}
	return all
}

// CompareAt compares one answer with the one that is expected in its place. It reports whether they say the same.
func (e Expected) CompareAt(i int, got Answer) (d Difference, same bool) {
	if i >= len(e.First.Answers) {
		return d, true
	}
	was := e.First.Answers[i]
	again := was
	if e.Again != nil && i < len(e.Again.Answers) {
		again = e.Again.Answers[i]
	}
	d.Request = was.Request
	d.Was, d.Is = difference(was, again, got)
	return d, d.Was == d.Is
}

// difference returns what is different in is, and what was there; both are "" if it says the same as was or
// as again.
func difference(was, again, is Answer) (string, string) {
	if was.Failed() != is.Failed() && again.Failed() != is.Failed() {
		return brief(was), brief(is)
	}
	if was.Failed() != is.Failed() {
		return "", "" // this call fails by turns
	}
	a, b, c := tree(was), tree(again), tree(is)
	if at, old, now := unlike(a, b, c, "result"); at != "" {
		return at + " " + old, at + " " + now
	}
	return "", ""
}

func tree(a Answer) (v any) {
	raw := a.Result
	if a.Error != nil {
		raw, _ = json.Marshal(map[string]any{"code": a.Error.Code, "message": a.Error.Message, "data": a.Error.Data})
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return withoutAdded(v)
}

// unlike returns the first place where c differs from a, other than b does: its path, and what a and c have
// there. The path is "" if there is none.
func unlike(a, b, c any, path string) (at, was, is string) {
	switch a := a.(type) {
	case map[string]any:
		c, ok := c.(map[string]any)
		if !ok {
			break
		}
		bm, _ := b.(map[string]any)
		return unlikeObjects(a, bm, c, path)
	case []any:
		c, ok := c.([]any)
		if !ok {
			break
		}
		bl, _ := b.([]any)
		return unlikeLists(a, bl, c, path)
	case string:
		c, ok := c.(string)
		if !ok {
			break
		}
		if bt, isText := b.(string); isText && sameText(a, bt, c) {
			return "", "", ""
		}
		return path, short(a), short(c)
	case json.Number:
		_, isNumber := c.(json.Number)
		if isNumber && fmt.Sprint(a) != fmt.Sprint(b) { // it is another one each time
			return "", "", ""
		}
	}
	if fmt.Sprint(a) == fmt.Sprint(c) {
		return "", "", ""
	}
	return path, short(a), short(c)
}

func unlikeObjects(a, b, c map[string]any, path string) (at, was, is string) {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range c {
		keys[k] = true
	}
	sorted := make([]string, 0, len(keys))
	for k := range keys {
		sorted = append(sorted, k)
	}
	sort.Strings(sorted)
	for _, k := range sorted {
		old, inA := a[k]
		other, inB := b[k]
		now, inC := c[k]
		here := path + "." + k
		switch {
		case inA != inC && (b == nil || inA == inB):
			return here, presence(old, inA), presence(now, inC)
		case inA && inC:
			if !inB {
				other = old
			}
			if at, was, is = unlike(old, other, now, here); at != "" {
				return at, was, is
			}
		}
	}
	return "", "", ""
}

func presence(v any, has bool) string {
	if !has {
		return "(missing)"
	}
	return short(v)
}

// unlikeLists compares lists. Their order counts only if it is the same in both expected sessions, and even
// then the same members in another order are no difference: servers list directories as they find them.
func unlikeLists(a, b, c []any, path string) (at, was, is string) {
	a, c, b = sorted(a), sorted(c), sorted(b)
	if len(a) != len(c) {
		if len(b) != len(a) {
			return "", "", "" // as many as it happens
		}
		return path, fmt.Sprintf("has %d members", len(a)), fmt.Sprintf("has %d", len(c))
	}
	for i := range a {
		other := a[i]
		if i < len(b) {
			other = b[i]
		}
		if at, was, is = unlike(a[i], other, c[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
			return at, was, is
		}
	}
	return "", "", ""
}

// sorted returns the members of a list, ordered by what they say when times and ids are left out.
func sorted(list []any) []any {
	type member struct {
		key   string
		value any
	}
	members := make([]member, len(list))
	for i, v := range list {
		raw, _ := json.Marshal(v)
		members[i] = member{steady(string(raw)), v}
	}
	slices.SortStableFunc(members, func(x, y member) int { return strings.Compare(x.key, y.key) })
	out := make([]any, len(list))
	for i, m := range members {
		out[i] = m.value
	}
	return out
}

// passing are what texts say anew in each session.
var passing = lazy.Regexp(strings.Join([]string{
	`\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?`,         // a date
	`\b\d\d?:\d\d:\d\d(?:\.\d+)?\b`,                                                      // a time of the day
	`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:[A-Z][a-z]{2}|\d\d?) [A-Za-z0-9 ]{2,}`, // Thu Nov 26 2026
	`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`,                   // a UUID
	`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?)\b`,                                // how long it took
	`(?i)\b(?:pid|process|session)[ =:#]*\d+`,                                            //
	`\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b`,                                                // seconds or milliseconds since 1970
}, "|"))

// refusing are the words for a path that cannot be had. Which of them a server gets is up to the rule around
// the path: a sensitive path is hidden in a wider grant, and does not exist without one.
var refusing = lazy.Regexp(`(?i)\[errno (?:1|2|13|30)\]|\b(?:ENOENT|EACCES|EPERM|EROFS)\b|no such file or directory|permission denied|operation not permitted|read-only file system|\(os error (?:1|2|13|30)\)`)

// steady returns a text without times and ids, and with one word for all refusals.
func steady(text string) string {
	return refusing().ReplaceAllString(passing().ReplaceAllString(text, "\x00"), "\x01")
}

// sameText reports whether c says the same as a, given that b said the same: as they are, without times and
// ids, with their lines in another order, or with other words only where a and b have other words.
func sameText(a, b, c string) bool {
	if c == a || c == b {
		return true
	}
	a, b, c = steady(a), steady(b), steady(c)
	if c == a || c == b {
		return true
	}
	lines := func(s string) []string {
		l := strings.Split(s, "\n")
		slices.Sort(l)
		return l
	}
	if la := lines(a); slices.Equal(la, lines(c)) || slices.Equal(la, lines(b)) {
		return slices.Equal(la, lines(c))
	}
	if a == b {
		return false
	}
	wa, wb, wc := strings.Fields(a), strings.Fields(b), strings.Fields(c)
	if len(wa) != len(wb) {
		return true // it is another text each time
	}
	if len(wa) != len(wc) {
		return false
	}
	for i := range wa {
		if wa[i] == wb[i] && wa[i] != wc[i] {
			return false
		}
	}
	return true
}

func brief(a Answer) string { return a.Brief() }

// Brief says in short what an answer is.
func (a Answer) Brief() string {
	switch {
	case a.Error != nil:
		return "an error: " + short(a.Error.Message)
	case a.Failed():
		return "failed: " + short(content(a.Result))
	}
	return "a result: " + short(content(a.Result))
}

// content returns the text of a tool's result, or the result as it is.
func content(raw json.RawMessage) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &r) == nil && len(r.Content) > 0 && r.Content[0].Text != "" {
		return r.Content[0].Text
	}
	return string(raw)
}

const maxBrief = 120

func short(v any) string {
	text, ok := v.(string)
	if !ok {
		raw, _ := json.Marshal(v)
		text = string(raw)
	}
	line := show.Line(strings.Join(strings.Fields(text), " "))
	if runes := []rune(line); len(runes) > maxBrief {
		line = string(runes[:maxBrief]) + " ..."
	}
	return line
}
