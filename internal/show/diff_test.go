package show

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, before, after, want string
		context                   int
	}{
		{"equal", "a\n", "a\n", "", 3},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", 3},
		{"no context", "a\nb\nc\n", "a\nB\nc\n", "@@ -2 +2 @@\n-b\n+B\n", 0},
		{"added", "a\nc\n", "a\nb\nc\n", "@@ -1,0 +2 @@\n+b\n", 0},
		{"removed", "a\nb\nc\n", "a\nc\n", "@@ -2 +1,0 @@\n-b\n", 0},
		{"from nothing", "", "a\n", "@@ -0,0 +1 @@\n+a\n", 3},
		{"line ends", "a\r\nb", "a\r\nc", "@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", 1},
		{"two hunks", "1\n2\n3\n4\n5\n6\n", "x\n2\n3\n4\n5\ny\n", "@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -5,2 +5,2 @@\n 5\n-6\n+y\n", 1},
		{"hunks that touch", "1\n2\n3\n4\n", "x\n2\n3\ny\n", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n", 1},
		{"a line that is there twice, between changes", "a\ns\nb\ns\n", "x\ns\ny\ns\n", "@@ -1 +1 @@\n-a\n+x\n@@ -3 +3 @@\n-b\n+y\n", 0},
	} {
		want := c.want
		if want != "" {
			want = "--- f\n+++ f\n" + want
		}
		if got := (Diff{Context: c.context}).Unified("f", []byte(c.before), []byte(c.after)); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, want)
		}
	}
}

// TestDiffApplies applies diffs of random files with a patcher of its own.
func TestDiffApplies(t *testing.T) {
	text := func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(30) {
			fmt.Fprintf(&b, "%d\n", r.IntN(5))
		}
		return strings.TrimRight(b.String(), strings.Repeat("\n", r.IntN(2)))
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, after := text(r), text(r)
		diff := Diff{Context: r.IntN(4), Counts: r.IntN(2) == 1}.Unified("f", []byte(before), []byte(after))
		if got := patch(t, before, diff); got != after {
			t.Fatalf("seed %d: %q and\n%s give %q, want %q", seed, before, diff, got, after)
		}
	}
	large := func(by string) []byte { return []byte(strings.Repeat(by, 3000)) }
	if diff := (Diff{Context: 3}).Unified("f", large("a\n"), large("b\n")); patch(t, string(large("a\n")), diff) != string(large("b\n")) {
		t.Error("files without a common line")
	}
}

func patch(t *testing.T, before, diff string) string {
	t.Helper()
	if diff == "" {
		return before
	}
	diff = strings.ReplaceAll(diff, "\n\\ No newline at end of file\n", "\x00")
	var out strings.Builder
	rest, line := splitLines([]byte(before)), 1
	for _, l := range strings.FieldsFunc(strings.ReplaceAll(diff, "\x00", "\x00\n"), func(r rune) bool { return r == '\n' })[2:] {
		text, full := strings.CutSuffix(l, "\x00")
		if !full {
			text += "\n"
		}
		switch l[0] {
		case '@':
			var from, count int
			if n, _ := fmt.Sscanf(l, "@@ -%d,%d", &from, &count); n == 2 && count == 0 {
				from++
			}
			for ; line < from; line++ {
				out.WriteString(rest[0])
				rest = rest[1:]
			}
		case '+':
			out.WriteString(text[1:])
		default:
			if len(rest) == 0 || rest[0] != text[1:] {
				t.Fatalf("%q does not fit in\n%s", l, diff)
			}
			if l[0] == ' ' {
				out.WriteString(rest[0])
			}
			rest, line = rest[1:], line+1
		}
	}
	return out.String() + strings.Join(rest, "")
}
