package winjail

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// Attributes of a process that x/sys/windows has no names for.
const (
	attributeJobList       = 0x2000d
	attributeChildProcess  = 0x2000e
	attributeMitigations   = windows.PROC_THREAD_ATTRIBUTE_MITIGATION_POLICY
	childProcessRestricted = 1
)

// mitigations are what the process may not do or have: a heap that goes on after it was found damaged,
// code from another machine or from a file of low integrity, and extensions that other programs load into
// every process.
const mitigations = heapTerminate | noExtensionPoints | noRemoteImages | noLowLabelImages

// Bits of the attribute, each "always on".
const (
	heapTerminate     = 1 << 12
	noExtensionPoints = 1 << 32
	noRemoteImages    = 1 << 52
	noLowLabelImages  = 1 << 56
)

// attributesOf returns the list of attributes of a process: it is made in a job, and inherits these
// handles and no others. With noChildren it starts no other process.
func attributesOf(job windows.Handle, handles []windows.Handle, noChildren bool) (*windows.ProcThreadAttributeListContainer, error) {
	list, err := windows.NewProcThreadAttributeList(4)
	if err != nil {
		return nil, step.Wrap(StepAttributes, err)
	}
	jobs, policy := []windows.Handle{job}, []uint64{mitigations}
	children := []uint32{childProcessRestricted}
	type attribute struct {
		step  string
		name  uintptr
		value unsafe.Pointer
		size  uintptr
	}
	all := []attribute{
		{StepJob, attributeJobList, unsafe.Pointer(&jobs[0]), unsafe.Sizeof(job)},
		{StepHandles, windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]), uintptr(len(handles)) * unsafe.Sizeof(job)},
		{StepAttributes, attributeMitigations, unsafe.Pointer(&policy[0]), unsafe.Sizeof(policy[0])},
	}
	if noChildren {
		all = append(all, attribute{StepChildren, attributeChildProcess, unsafe.Pointer(&children[0]), unsafe.Sizeof(children[0])})
	}
	for _, a := range all {
		if err := list.Update(a.name, a.value, a.size); err != nil {
			list.Delete()
			return nil, step.Wrap(a.step, err)
		}
	}
	return list, nil
}

// inheritable returns copies of three files that a process can inherit; NUL for each that is nil. Also
// with an error, the caller closes what is returned.
func inheritable(files [3]*os.File) (out []windows.Handle, err error) {
	self := windows.CurrentProcess()
	for i, f := range files {
		if f == nil {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				return out, err
			}
			defer null.Close()
			f = null
		}
		var h windows.Handle
		if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
			return out, fmt.Errorf("file %d: %w", i, err)
		}
		out = append(out, h)
	}
	return out, nil
}

func closeAll(handles []windows.Handle) {
	for _, h := range handles {
		windows.CloseHandle(h)
	}
}
