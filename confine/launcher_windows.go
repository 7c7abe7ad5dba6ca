package confine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Die ends this process with the status of the program.
func (e Exit) Die() { os.Exit(e.Code) }

// RunSupervisor does nothing here: a job needs no supervisor.
func RunSupervisor() {}

// start carries out a plan. The process runs once it is in its job.
func (*starter) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
	if l.BeforeExec != nil && ctx.Err() == nil {
		if err := l.BeforeExec(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	switch ctx.Err() {
	case nil:
	case context.DeadlineExceeded:
		return nil, late(ctx)
	default:
		return nil, ctx.Err()
	}
	home := ""
	if plan.Profile.HomePrivate {
		home = plan.Profile.Home
	}
	o := plan.Spec
	if err := makeOwnDirs(home, o.TempDir); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: o.Program, Args: o.Argv, Env: o.Env, Dir: o.Dir}
	if stdio.In != nil {
		cmd.Stdin = stdio.In
	}
	if stdio.Out != nil {
		cmd.Stdout = stdio.Out
	}
	if stdio.Err != nil {
		cmd.Stderr = stdio.Err
	}
	started, err := startInJob(cmd, jobLimits{Processes: o.Limits.Processes, MemoryMB: o.Limits.MemoryMB})
	if err != nil {
		jail.RemoveTree(o.TempDir)
		return nil, err
	}
	p := &Process{plan: plan, started: started, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

// makeOwnDirs makes the private HOME, if there is one, and the TEMP of one session, which does not exist
// yet. Both have the access rights of the directory around them, which is the user's own, and the label
// without which the server could not write there.
func makeOwnDirs(home, temp string) error {
	if home != "" {
		for _, dir := range []string{home, filepath.Join(home, "AppData", "Roaming"), filepath.Join(home, "AppData", "Local")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return sys.Wrap(StepDirectory, err)
			}
		}
		if err := letWrite(home); err != nil {
			return sys.Wrap(StepLabel, sys.On(home, err))
		}
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		return sys.Wrap(StepDirectory, err)
	}
	if err := letWrite(temp); err != nil {
		return sys.Wrap(StepLabel, sys.On(temp, err))
	}
	return nil
}

// Process is a program in its job.
type Process struct {
	plan    *Plan
	started *jobProcess
	done    chan struct{}
	exit    Exit // once done is closed
}

// killedCode is the exit status of a program that was ended, as on other systems.
const killedCode = 128 + 9

// wait records the end of the program. What it has left ends with the job.
func (p *Process) wait() {
	code, err := p.started.Wait()
	p.exit.Code = code
	if err != nil {
		p.exit = Exit{Code: killedCode, Why: "Windows does not tell how the program ended: " + err.Error()}
	}
	jail.RemoveTree(p.plan.Spec.TempDir)
	close(p.done)
}

// Plan returns the plan with which the process was started.
func (p *Process) Plan() *Plan { return p.plan }

// Kill ends every process of the jail at once.
func (p *Process) Kill() error { return p.started.Kill(killedCode) }

// Done returns a channel that is closed when the program has ended, and Windows was told to end every
// other process of the jail.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended, once that is so.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, nil
}

// HostFailures returns nil: connections do not pass through mcp-jail here.
func (*Process) HostFailures() []policy.HostFailure { return nil }

// OnNotice does nothing: there are no notices.
func (*Process) OnNotice(func(Notice)) {}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.started.PID() }

// Signal ends the whole jail: Windows has no signals. A session closes the server's standard input first.
func (p *Process) Signal(os.Signal) error { return p.Kill() }

// Denials returns nil: nothing on Windows tells what was refused.
func (*Process) Denials() []policy.Denial { return nil }

// Unanswered returns nil: the server has no loopback of its own.
func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// Listening knows nothing: the server has no network of its own.
func (*Process) Listening() (ports []int, known bool) { return nil, false }

// KeepCall does nothing: no file is kept here before the server changes it.
func (*Process) KeepCall(bool) error { return nil }

// Secrets returns nil: there are no secrets without an interceptor.
func (*Process) Secrets() map[string]string { return nil }

var createRestrictedToken = windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 1 // all privileges go but SeChangeNotifyPrivilege
	luaToken            = 4 // groups of administrators only serve to refuse
)

// lowToken returns the token of this process without privileges, with the administrators only to refuse,
// and at low integrity.
func lowToken() (windows.Token, error) {
	var own, out windows.Token
	access := uint32(windows.TOKEN_DUPLICATE | windows.TOKEN_QUERY | windows.TOKEN_ASSIGN_PRIMARY | windows.TOKEN_ADJUST_DEFAULT)
	if err := windows.OpenProcessToken(windows.CurrentProcess(), access, &own); err != nil {
		return 0, fmt.Errorf("the token of this process: %w", err)
	}
	defer own.Close()
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return 0, fmt.Errorf("the group of administrators: %w", err)
	}
	low, err := windows.CreateWellKnownSid(windows.WinLowLabelSid)
	if err != nil {
		return 0, fmt.Errorf("the low integrity level: %w", err)
	}
	deny := windows.SIDAndAttributes{Sid: admins}
	r, _, err := createRestrictedToken.Call(uintptr(own), disableMaxPrivilege|luaToken, 1, uintptr(unsafe.Pointer(&deny)), 0, 0, 0, 0, uintptr(unsafe.Pointer(&out)))
	if r == 0 {
		return 0, fmt.Errorf("CreateRestrictedToken: %w", err)
	}
	label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: low, Attributes: windows.SE_GROUP_INTEGRITY}}
	if err := windows.SetTokenInformation(out, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)), label.Size()); err != nil {
		out.Close()
		return 0, fmt.Errorf("its integrity level: %w", err)
	}
	return out, nil
}

// lowLabel is the label of a directory, and of what is made below it, that programs at low integrity may
// change.
const lowLabel = "(ML;OICI;NW;;;LW)"

// letWrite labels a directory and all below it, so that programs at low integrity may change it. That holds
// for each such program of the user.
func letWrite(dir string) error {
	label, err := windows.SecurityDescriptorFromString("S:" + lowLabel)
	if err != nil {
		return err
	}
	list, _, err := label.SACL()
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.WRITE_OWNER|windows.READ_CONTROL, shared, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if has, err := windows.GetSecurityInfo(h, windows.SE_FILE_OBJECT, windows.LABEL_SECURITY_INFORMATION); err == nil && strings.Contains(has.String(), lowLabel) {
		return nil // to write it again would go through all that is below
	}
	return windows.SetSecurityInfo(h, windows.SE_FILE_OBJECT, windows.LABEL_SECURITY_INFORMATION, nil, nil, nil, list)
}
