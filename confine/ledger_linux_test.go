package confine

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probeCreates tries to make as many files as it is told, each # in the name a number.
func probeCreates(a []string) (string, error) {
	for i := range number(a[1]) {
		fd, err := unix.Open(strings.ReplaceAll(a[0], "#", strconv.Itoa(i)), unix.O_WRONLY|unix.O_CREAT, 0o644)
		if closing(fd, err) == nil {
			return "a file", nil
		}
	}
	return "", nil
}

// recorded are the refusals of a jail whose program made the attempts, by target.
func recorded(t *testing.T, p *policy.Profile, attempts ...attempt) map[string]Denial {
	t.Helper()
	s := begin(t, p, attempts...)
	s.finish()
	found := map[string]Denial{}
	for _, d := range s.Denials() {
		found[d.Target+string(d.Reason)] = d
	}
	return found
}

// TestJailRecordsAfterAbsents: a server that tries names that do not exist anywhere has
// what it is refused afterwards on record.
func TestJailRecordsAfterAbsents(t *testing.T) {
	t.Parallel()
	needsJail(t)
	dir := testkit.Plant(t, "ws/")
	const tried = 3000
	got := recorded(t, jailProfile(t, grant{dir + "/ws", rw}), try("creates", "/nowhere/#", strconv.Itoa(tried)), try("create", dir+"/ws/.envrc"))
	if d := got[dir+"/ws/.envrc"]; d.Count != 1 {
		t.Errorf("not on record: %v", got)
	}
	if d := got[others+"absent"]; d.Count < 1 || d.Count > tried-maxAbsents || len(got) != 2 {
		t.Errorf("beside it: %v", got)
	}
}

// TestJailRecordsEveryTime: what is refused again at once is on record each time, and
// what has no room in it is counted.
func TestJailRecordsEveryTime(t *testing.T) {
	t.Parallel()
	needsJail(t)
	dir := testkit.Plant(t, "ro/")
	p := jailProfile(t, grant{dir + "/ro", policy.Read})
	for n, want := range map[string]int{"4": 4, "3000": 3000} {
		if d := recorded(t, p, try("creates", dir+"/ro/new", n))[dir+"/ro/new"]; d.Count != want || !d.Last.After(d.Time) {
			t.Errorf("%s times: %+v", n, d)
		}
	}
	got := recorded(t, p, try("creates", dir+"/ro/#", strconv.Itoa(maxRefusals+500)))
	if d := got[others+"limit"]; d.Count != 500 || len(got) != maxRefusals+1 || got[dir+"/ro/0"].Count != 1 {
		t.Errorf("%d on record, the others are %+v", len(got), d)
	}
}

// TestLedgerTellsTheRest: what was announced is told, also when nothing more is refused.
func TestLedgerTellsTheRest(t *testing.T) {
	t.Parallel()
	var p Process
	l := &ledger{say: p.record}
	const times = 10 * maxAgain
	for range times {
		l.refused(&request{n: notification{tid: uint32(unix.Gettid())}}, "write", "/a")
	}
	if d := p.Denials(); len(d) != 1 {
		t.Errorf("%v", d)
	}
	testkit.Eventually(t, "the rest is told", func() bool { return p.Denials()[0].Count == times })
	for range times { // and so it is of the next page
		l.refused(&request{n: notification{tid: uint32(unix.Gettid())}}, "write", "/a")
	}
	testkit.Eventually(t, "the rest of the next page is told, once", func() bool { return p.Denials()[0].Count == 2*times })
}

// TestLedgerKnowsWhatIsNoRefusal: what no policy grants, what programs try and do
// without, and what the self-test is refused are not on record.
func TestLedgerKnowsWhatIsNoRefusal(t *testing.T) {
	const nscd = "/var/run/nscd/socket"
	long := "/" + strings.Repeat("x", 5000)
	for _, c := range []struct {
		axis              policy.Axis
		operation, target string
		hosts, self       bool
		want              string // of the target, as it is told
	}{
		{policy.AxisFs, "write", "/a", false, false, "/a"},
		{policy.AxisFs, "write", "/a", false, true, ""},
		{policy.AxisFs, "write", "/proc/self/x", false, false, ""},
		{policy.AxisFs, "create", "/dev/x", false, false, ""},
		{policy.AxisFs, "create", "/sys", false, false, ""},
		{policy.AxisFs, "create", "/system", false, false, "/system"},
		{policy.AxisIPC, "connect", "/dev/log", false, false, "/dev/log"},
		{policy.AxisProcess, "exec", "/proc/x", false, false, "/proc/x"},
		{policy.AxisIPC, "connect", nscd, false, false, ""},
		{policy.AxisFs, "create", nscd, false, false, nscd},
		{policy.AxisFs, "read", "/etc/hosts", true, false, ""},
		{policy.AxisFs, "read", "/etc/hosts", false, false, "/etc/hosts"},
		{policy.AxisFs, "write", "/etc/hosts", true, false, "/etc/hosts"},
		{policy.AxisFs, "read", "/etc/passwd", true, false, "/etc/passwd"},
		{policy.AxisFs, "read", long, false, false, long[:4096]},
	} {
		var told []string
		l := &ledger{hosts: c.hosts, say: func(m message) { told = append(told, m.target) }}
		if c.self {
			l.self = unix.Gettid()
		}
		l.report(&request{n: notification{tid: uint32(unix.Gettid())}}, c.axis, c.operation, c.target, false)
		if want := []string{c.want}; !slices.Equal(told, want) && (c.want != "" || told != nil) {
			t.Errorf("%s %s %.20s: told %.50q, want %.20q", c.axis, c.operation, c.target, told, c.want)
		}
	}
}

// TestLedgerAnnounces: the last one that is told at once says that there may be more.
func TestLedgerAnnounces(t *testing.T) {
	var told []message
	l := &ledger{say: func(m message) { told = append(told, m) }, turns: true} // so that nothing comes later
	for range maxAgain + 10 {
		l.refused(&request{n: notification{tid: uint32(unix.Gettid())}}, "write", "/a")
	}
	for i, m := range told {
		if last := i == maxAgain+1; m.held != last || m.pid == 0 || m.program == "" {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if len(told) != maxAgain+2 {
		t.Errorf("%d are told", len(told))
	}
}

// TestOthersAreNotLookedUp: they are no name.
func TestOthersAreNotLookedUp(t *testing.T) {
	var p Process
	p.record(sighting{policy.AxisIPC, "connect", others, true}.message(1))
	p.record(sighting{policy.AxisIPC, "connect", "/nowhere/socket", true}.message(1))
	if d := p.Denials(); len(d) != 1 || d[0].Target != others {
		t.Errorf("%v", d)
	}
}
