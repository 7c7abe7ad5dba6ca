package confine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestShortOfDescriptors: if a probe of /proc fails for lack of descriptors, the start fails with
// any gaps waived. The host is not taken for one without /proc.
func TestShortOfDescriptors(t *testing.T) {
	for answer, refused := range map[kernel.Answer]bool{kernel.Unknown: true, kernel.No: false, kernel.Yes: false} {
		f := plantest.Kernel()
		f.FreshProc = kernel.Feature{Answer: answer, Detail: "too many open files"}
		_, err := Launcher{Waive: policy.Axes()}.compileOn(plantest.Profile(), f)
		var se *sys.Error
		if errors.As(err, &se) != refused {
			t.Errorf("%v: %v, want an error: %t", answer, err, refused)
		}
	}
}

// TestWhileShort: a start is tried again for two seconds while the host is short of something, unless its caller
// gives up.
func TestWhileShort(t *testing.T) {
	short := &sys.Error{Step: "seccomp", Errno: 524}
	for name, c := range map[string]struct {
		fails  int // that many starts, with err
		err    error
		cancel bool
		starts int
		took   time.Duration
	}{
		"over at once":       {2, short, false, 3, 192 * time.Millisecond},
		"it lasts":           {100, short, false, 6, 1984 * time.Millisecond},
		"of no host":         {100, &sys.Error{Step: "seccomp", Errno: syscall.EPERM}, false, 1, 0},
		"the caller is gone": {100, short, true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel {
					cancel()
				}
				starts, begin := 0, time.Now()
				_, err := whileShort(ctx, func() (*Process, error) {
					if starts++; starts <= c.fails {
						return nil, c.err
					}
					return &Process{}, nil
				})
				if took := time.Since(begin); starts != c.starts || took != c.took || (err == nil) != (c.fails < starts) {
					t.Errorf("%d starts in %v: %v", starts, took, err)
				}
			})
		})
	}
}

// TestPlatformWaiver: the word of a system waives the gaps that this system has under every policy, and
// nothing else.
func TestPlatformWaiver(t *testing.T) {
	nothing := func(*policy.Profile, *kernel.Facts) {}
	inbound := func(p *policy.Profile, _ *kernel.Facts) { p.Inbound = []int{3000} }
	failed := func(_ *policy.Profile, f *kernel.Facts) {
		f.Proof.Failed = []kernel.ProbeResult{{ID: "R2", Axis: policy.AxisFs, What: "a", Got: "b"}}
	}
	fatal := func(_ *policy.Profile, f *kernel.Facts) {
		f.Proof.Failed = []kernel.ProbeResult{{ID: "S1", Axis: policy.AxisFs, What: "a", Got: "b", Fatal: true}}
	}
	unproved := func(_ *policy.Profile, f *kernel.Facts) { f.Proof.Made = false }
	onLinux := func(_ *policy.Profile, f *kernel.Facts) {
		*f = plantest.Kernel()
		f.UserNamespaces, f.ReadsProc, f.TracesOwn = kernel.Unavailable("refused", "allow them"), true, kernel.Available("")
	}
	for _, c := range []struct {
		name   string
		change func(*policy.Profile, *kernel.Facts)
		waive  string
		open   string // the axes of the gaps that refuse the start, each once
		line   string // how the error ends
	}{
		{"nothing waived", nothing, "", "fs process limits", `waive = ["macos"]  (--waive macos)`},
		{"the word", nothing, "macos", "", ""},
		{"the word of another system", nothing, "windows", "fs process limits", `waive = ["macos"]  (--waive macos)`},
		{"all axes of the gaps", nothing, "fs process limits", "", ""},
		{"one of these axes", nothing, "fs", "process limits", `accepted already: fs. To start it all the same, and accept the rest too: waive = ["fs", "macos"]  (add --waive macos)`},
		{"the word, with a gap of the policy", inbound, "macos", "net", `(--waive net)`},
		{"the axis of that gap too", inbound, "macos net", "", ""},
		{"only the axis of that gap", inbound, "net", "fs process limits", `waive = ["net", "macos"]  (add --waive macos)`},
		{"a failed probe", failed, "macos", "fs", `waive = ["fs"] (--waive fs)`},
		{"a failed probe and its axis", failed, "macos fs", "", ""},
		{"a fatal probe", fatal, "macos fs", "fs", "makes the self-test again"},
		{"no self-test", unproved, "macos fs net ipc process env limits", "process", "which makes the self-test"},
		{"Linux, the word", onLinux, "macos", "fs process limits", `waive = ["fs", "process", "limits"]  (--waive fs --waive process --waive limits)`},
	} {
		for _, inProfile := range []bool{true, false} {
			p, f := plantest.Profile(), plantest.Mac()
			c.change(p, &f)
			var words []policy.Axis
			for _, w := range strings.Fields(c.waive) {
				words = append(words, policy.Axis(w))
			}
			l := Launcher{Waive: words}
			if inProfile {
				l, p.Waive = Launcher{}, words
			}
			_, err := l.compileOn(p, f)
			var open []policy.Axis
			var gaps *GapError
			if errors.As(err, &gaps) {
				for _, g := range gaps.Gaps {
					open = append(open, g.Axis)
				}
			}
			var got []string
			for _, a := range policy.OrderWaivers(open) {
				got = append(got, string(a))
			}
			if strings.Join(got, " ") != c.open || (err == nil) != (c.open == "") {
				t.Errorf("%s: open on %q, %v", c.name, got, err)
			}
			if inProfile && err != nil && !strings.HasSuffix(err.Error(), c.line) {
				t.Errorf("%s: the error does not end with %s:\n%v", c.name, c.line, err)
			}
			if inProfile && err != nil && strings.Count(err.Error(), "--waive macos") > 1 {
				t.Errorf("%s: the line is there more than once:\n%v", c.name, err)
			}
		}
	}
	if slices.Contains(policy.Axes(), policy.WaiveMacOS) {
		t.Error("the word of a system is an axis")
	}
}
func TestLate(t *testing.T) {
	for cause, want := range map[error]string{
		errors.New("it was not ready after 1m0s (startup_timeout_secs)"): "not ready after 1m0s (startup_timeout_secs)",
		nil: "not ready before the deadline",
	} {
		ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now(), cause)
		defer cancel()
		<-ctx.Done()
		testkit.Contains(t, "", late(ctx).Error(), want)
	}
}
