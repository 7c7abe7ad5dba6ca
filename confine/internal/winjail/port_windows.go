package winjail

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// The function of x/sys/windows takes a pointer where a job writes the number of a process, and a small
// number in a pointer ends a program of Go.
var getQueuedCompletionStatus = kernel32.NewProc("GetQueuedCompletionStatus")

// jobObjectAssociateCompletionPort is a class of information of a job.
const jobObjectAssociateCompletionPort = 7

// Keys of what arrives at a port.
const (
	keyJob = iota + 1
	keyClose
)

// A port receives the messages of a job.
type port struct {
	handle windows.Handle
	closed chan struct{}
}

// listen makes Windows tell what the processes of a job reach, and calls tell for each. No process may be in
// the job yet.
func listen(job windows.Handle, tell func(Report)) (*port, error) {
	h, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 1)
	if err != nil {
		return nil, step.Wrap(StepReports, err)
	}
	info := struct {
		key  uintptr
		port windows.Handle
	}{keyJob, h}
	if _, err := windows.SetInformationJobObject(job, jobObjectAssociateCompletionPort, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(h)
		return nil, step.Wrap(StepReports, err)
	}
	p := &port{h, make(chan struct{})}
	go p.serve(tell)
	return p, nil
}

func (p *port) serve(tell func(Report)) {
	defer close(p.closed)
	for {
		var message uint32
		var key, process uintptr
		r, _, _ := getQueuedCompletionStatus.Call(uintptr(p.handle), uintptr(unsafe.Pointer(&message)), uintptr(unsafe.Pointer(&key)), uintptr(unsafe.Pointer(&process)), windows.INFINITE)
		if r == 0 || key == keyClose {
			return
		}
		if report, ok := reportOf(message); ok {
			tell(report)
		}
	}
}

// close closes the port once all that has arrived there is told.
func (p *port) close() {
	if p == nil {
		return
	}
	if windows.PostQueuedCompletionStatus(p.handle, 0, keyClose, nil) == nil {
		<-p.closed
	}
	windows.CloseHandle(p.handle)
}
