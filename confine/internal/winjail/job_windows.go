package winjail

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

var (
	kernel32       = windows.NewLazySystemDLL("kernel32.dll")
	isProcessInJob = kernel32.NewProc("IsProcessInJob")
)

// desktopLimits are all limits of a job about the desktop.
const desktopLimits = windows.JOB_OBJECT_UILIMIT_HANDLES | windows.JOB_OBJECT_UILIMIT_READCLIPBOARD | windows.JOB_OBJECT_UILIMIT_WRITECLIPBOARD |
	windows.JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS | windows.JOB_OBJECT_UILIMIT_DISPLAYSETTINGS | windows.JOB_OBJECT_UILIMIT_GLOBALATOMS |
	windows.JOB_OBJECT_UILIMIT_DESKTOP | windows.JOB_OBJECT_UILIMIT_EXITWINDOWS

// limits are what the job of an input must have. Without a flag that allows it, no process leaves the job.
func (in Input) limits() (info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) {
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if in.Processes > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = uint32(in.Processes)
	}
	if in.MemoryMB > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(in.MemoryMB) << 20
	}
	return info
}

// newJob makes a job with the limits of an input. No process inherits its handle: the job ends when this
// process does.
func newJob(in Input) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, step.Wrap(StepJob, err)
	}
	info := in.limits()
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return 0, step.Wrap(StepLimits, err)
	}
	if in.Desktop {
		return job, nil
	}
	ui := windows.JOBOBJECT_BASIC_UI_RESTRICTIONS{UIRestrictionsClass: desktopLimits}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectBasicUIRestrictions, uintptr(unsafe.Pointer(&ui)), uint32(unsafe.Sizeof(ui))); err != nil {
		windows.CloseHandle(job)
		return 0, step.Wrap(StepDesktop, err)
	}
	return job, nil
}

// isInJob returns an error unless a process is in a job.
func isInJob(job, process windows.Handle) error {
	var inside int32
	if r, _, err := isProcessInJob.Call(uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&inside))); r == 0 {
		return fmt.Errorf("whether the process is in its job: %w", err)
	}
	if inside == 0 {
		return errors.New("the process is not in its job")
	}
	return nil
}
