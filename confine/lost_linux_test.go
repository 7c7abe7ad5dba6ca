package confine

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailLost: a jail that has lost whoever holds it, or whose supervisor cannot start,
// ends with its server, which is not to blame: it says why. One that was told to end does not.
func TestJailLost(t *testing.T) {
	needsJail(t)
	for _, c := range []struct {
		name, why string
		end       func(*Process)
	}{
		{"killed", "its init or its supervisor was ended", func(p *Process) { unix.Kill(p.PID(), unix.SIGKILL) }},
		{"supervised, and killed", "its init or its supervisor was ended", func(p *Process) {
			testkit.Eventually(t, "its supervisor", p.isSupervised)
			unix.Kill(p.PID(), unix.SIGKILL)
		}},
		{"no room for descriptors", "step supervision failed: invalid argument", func(p *Process) {
			if err := unix.Prlimit(p.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil); err != nil {
				t.Error(err)
			}
		}},
		{"told to end", "", func(p *Process) { p.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t, limited(t, policy.Limits{Processes: policy.DefaultLimits.Processes}), try("wait"))
			c.end(s.Process)
			select {
			case <-s.Done():
			case <-time.After(20 * time.Second):
				t.Error("it does not end")
				s.Kill()
			}
			exit := s.finish()
			if exit.Signal != unix.SIGKILL || c.why == "" && exit.Why != "" || !strings.Contains(exit.Why, c.why) {
				t.Errorf("%+v", exit)
			}
		})
	}
}

// TestBareLost is TestJailLost where there are no namespaces.
func TestBareLost(t *testing.T) {
	needsBare(t)
	for _, told := range []bool{false, true} {
		s := beginWith(t, allGaps, jailProfile(t), try("wait"))
		if told {
			s.Kill()
		} else {
			unix.Kill(s.PID(), unix.SIGKILL)
		}
		if exit := s.finish(); exit.Signal != unix.SIGKILL || told != (exit.Why == "") {
			t.Errorf("told %t: %+v", told, exit)
		}
	}
}

// TestJailNull and TestBareNull: what stands for a file that there is none of is not the
// host's /dev/null, which is everybody's.
func TestJailNull(t *testing.T) {
	needsJail(t)
	ownNull(t, Launcher{}, "EROFS")
	callByCall := func(_ *jailBuilder, steps []buildStep) []buildStep { return steps }
	ownNull(t, Launcher{testHooks: testHooks{steps: callByCall}}, "EROFS")
}

func TestBareNull(t *testing.T) {
	needsBare(t)
	ownNull(t, allGaps, "EACCES")
}

func ownNull(t *testing.T, l Launcher, errno string) {
	t.Helper()
	if os.Getuid() == 0 {
		expect(t, "the control", unconfined(t, "/", try("null"))[0], "ok fchmod <nil> fchown <nil>")
	}
	got, err := runJail(t, l, jailProfile(t), []attempt{try("null")})
	if want := outcome(fmt.Sprintf("ok fchmod %[1]s fchown %[1]s", errno)); err != nil || got[0] != want {
		t.Errorf("%v, %v", got, err)
	}
}

// probeNull changes the null device that is its stdin, to what it is.
func probeNull([]string) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(0, &st); err != nil || st.Rdev != unix.Mkdev(1, 3) {
		return "", fmt.Errorf("stdin is %#x: %v", st.Rdev, err)
	}
	outcome := func(err error) string { return errnoName(errnoOf(err)) }
	return "fchmod " + outcome(unix.Fchmod(0, st.Mode&0o7777)) + " fchown " + outcome(unix.Fchown(0, int(st.Uid), int(st.Gid))), nil
}
