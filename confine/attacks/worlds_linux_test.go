package attacks

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	jailpkg "github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// make makes attempts in one world.
func (st *stage) make(t *testing.T, w world, tries []attacker.Attempt) []attacker.Outcome {
	t.Helper()
	var p *policy.Profile
	if w != unjailed {
		p = st.profile(t)
	}
	switch a := tries[0]; {
	case a[0] == "read-moved":
		go st.mover()
	case strings.Contains(a.String(), "/late"):
		st.handOut(t, st.root+"/home/ws/late") // the policy has not seen it
	}
	switch w {
	case unjailed:
		cmd := exec.Command(jailtest.Binary)
		cmd.Args = append([]string{attacker.Name}, jailtest.Args(t, tries)...)
		return st.careless(t, cmd, tries)
	case jail:
		return st.start(t, confine.Launcher{}, p, tries)
	case hostNSJail:
		return st.inBareJail(t, p, tries)
	case wallNamespaces, wallMediation:
		return st.start(t, confine.Launcher{TestHooks: jailpkg.TestHooks{Steps: w.only}}, p, tries)
	}
	return st.behind(t, w, p, tries)
}

// start runs a jail. If another program replaces a file of the host during the start, as useradd
// does with /etc/passwd, start resolves the profile again.
func (st *stage) start(t *testing.T, l confine.Launcher, p *policy.Profile, tries []attacker.Attempt) []attacker.Outcome {
	t.Helper()
	for again := 0; ; again++ {
		out, err := jailtest.Run(t, l, p, tries)
		switch {
		case err == nil:
			return out
		case again == 5 || !strings.Contains(err.Error(), jailpkg.ErrSwapped.Error()):
			t.Fatal(err)
		}
		p = st.profile(t)
	}
}

// careless runs a program as a careless launcher would, with all descriptors and the whole
// environment. Mounts and host names that root changes there stay in namespaces of the program.
func (st *stage) careless(t *testing.T, cmd *exec.Cmd, tries []attacker.Attempt) []attacker.Outcome {
	t.Helper()
	null := testkit.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
	defer null.Close()
	cmd.Dir = st.root + "/home/ws"
	cmd.ExtraFiles = []*os.File{null, null}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS | unix.CLONE_NEWUTS
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	return jailtest.Outcomes(t, tries, out, fmt.Sprintf("%v, stderr %q", err, errs.String()))
}

// inBareJail makes attempts in a jail without namespaces, with every gap waived.
func (st *stage) inBareJail(t *testing.T, p *policy.Profile, tries []attacker.Attempt) []attacker.Outcome {
	t.Helper()
	q := *p
	q.Argv = append([]string{attacker.Name}, jailtest.Args(t, tries)...)
	plan := jailtest.Compile(&q, kernel.Detect().WithUserNS(kernel.Unavailable("for this test", "")))
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	process, err := confine.Launcher{}.StartPlan(t.Context(), plan, jailpkg.Stdio{Out: w})
	w.Close()
	if err != nil && strings.Contains(err.Error(), jailpkg.ErrSwapped.Error()) {
		return st.inBareJail(t, st.profile(t), tries)
	}
	testkit.Must(t, err)
	out, _ := io.ReadAll(r)
	exit, _ := process.Wait()
	return jailtest.Outcomes(t, tries, out, fmt.Sprintf("exit %+v", exit))
}

// behind makes attempts behind one wall alone. The wall is not namespaces.
func (st *stage) behind(t *testing.T, w world, p *policy.Profile, tries []attacker.Attempt) []attacker.Outcome {
	t.Helper()
	q := *p
	q.Argv = append([]string{attacker.Name}, jailtest.Args(t, tries)...)
	if w != wallEnvironment {
		for _, v := range os.Environ() {
			name, value, _ := strings.Cut(v, "=")
			q.Env = append(q.Env, policy.Variable{Name: name, Value: value})
		}
	}
	f := kernel.Detect().WithUserNS(kernel.Available(""))
	f.SeccompNotify = kernel.Unavailable("for this test", "") // there is no supervisor to answer
	plan := planpkg.Compile(&q, f, planpkg.Watching{})
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{behindName, string(w)}
	cmd.Stdin = bytes.NewReader(plan.Spec.Encode())
	return st.careless(t, cmd, tries)
}
