package confine

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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
		found[d.Target+d.Reason] = d
	}
	return found
}

// TestJailRecordsAfterAbsents: a server that tries names that do not exist anywhere has
// what it is refused afterwards on record.
func TestJailRecordsAfterAbsents(t *testing.T) {
	t.Parallel()
	needsJail(t)
	dir := plant(t, "ws/")
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
	dir := plant(t, "ro/")
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
	eventually(t, "the rest is told", func() bool { return p.Denials()[0].Count == times })
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
