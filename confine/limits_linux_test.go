package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

func limited(t testing.TB, l policy.Limits, grants ...grant) *policy.Profile {
	p := jailProfile(t, grants...)
	p.Limits = l
	return p
}

func TestJailOpenFiles(t *testing.T) {
	needsJail(t)
	got := jailed(t, limited(t, policy.Limits{OpenFiles: 40}), "openfiles")
	n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
	if count, _ := strconv.Atoi(n); why != "EMFILE" || count < 20 || count > 40 {
		t.Errorf("%s of a limit of 40", got)
	}
	p := limited(t, policy.Limits{OpenFiles: 40})
	expect(t, "raising it again", jailed(t, p, "limit", fmt.Sprint(unix.RLIMIT_NOFILE)), "ok 40 40")
}

func TestJailFileSize(t *testing.T) {
	needsJail(t)
	dir := plant(t)
	p := limited(t, policy.Limits{FileSizeMB: 2}, grant{dir, rw})
	got := inJail(t, p, try("fill", dir+"/small", "2"), try("fill", dir+"/big", "3"), try("fill", "/tmp/big", "3"))
	if fmt.Sprint(got) != "[ok EFBIG EFBIG]" {
		t.Errorf("%v", got)
	}
	if fi, err := os.Stat(dir + "/big"); err != nil || fi.Size() > 2<<20 {
		t.Errorf("%v, %v", fi, err)
	}
	expect(t, "control", inJail(t, jailProfile(t, grant{dir, rw}), try("fill", dir+"/big", "3"))[0], "ok")
}

// TestJailProcesses: a bounded fork bomb. Root is exempt from RLIMIT_NPROC, so
// there the PID namespace's own pid_max has to hold.
func TestJailProcesses(t *testing.T) {
	needsJail(t)
	if os.Getuid() == 0 {
		needs(t, "pid_max", "fresh_proc")
	}
	for _, limit := range []int{40, 200} {
		begun := time.Now()
		got := jailed(t, limited(t, policy.Limits{Processes: limit}), "fork", fmt.Sprint(10*limit))
		n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
		count, err := strconv.Atoi(n)
		if err != nil || why != "EAGAIN" || count > 2*limit || count < limit/2 {
			t.Errorf("limit %d: %s", limit, got)
		}
		t.Logf("limit %d: %s in %v", limit, got, time.Since(begun).Round(time.Millisecond))
	}
	expect(t, "without a limit", jailed(t, jailProfile(t), "fork", "100"), "ok 100")
}

func TestJailMemory(t *testing.T) {
	needsJail(t)
	needs(t, "fresh_proc")
	for _, c := range []struct {
		name string
		what attempt
	}{
		{"one process", try("allocate", "200")},
		{"two together", try("allocate-two", "60")},
		{"shared", try("allocate-shared", "200")},
		{"undumpable", try("allocate-hidden", "200")},
		{"files of its own /tmp", try("fill-tmp", "200")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := limited(t, policy.Limits{MemoryMB: 64})
			s := begin(t, p, c.what)
			exit := s.finish()
			denials := s.Denials()
			if len(denials) == 0 || denials[0].Axis != policy.AxisLimits || denials[0].Operation != "memory" || denials[0].Program != "probe" {
				t.Errorf("denials %+v", denials)
			}
			if c.name != "two together" && exit.Signal != syscall.SIGKILL {
				t.Errorf("exit %+v", exit)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		s := begin(t, limited(t, policy.Limits{MemoryMB: 1024}), try("allocate", "200"))
		time.Sleep(2 * time.Second)
		select {
		case <-s.Done():
			t.Errorf("it ended below the limit: %q, %v", s.errs.text, s.Denials())
		default:
		}
		s.Kill()
		s.finish()
		if d := s.Denials(); len(d) != 0 {
			t.Errorf("denials %+v", d)
		}
	})
}

func TestJailMakesNoCore(t *testing.T) {
	needsJail(t)
	dir := plant(t)
	p := jailProfile(t, grant{dir, rw})
	p.Dir = dir
	p.Argv = append(p.Argv[:1:1], probeArgs(t, []attempt{try("crash")})...)
	proc, err := Launcher{}.Start(t.Context(), p, Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	exit, _ := proc.Wait()
	if exit.Signal != syscall.SIGSEGV {
		t.Errorf("exit %+v", exit)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}
