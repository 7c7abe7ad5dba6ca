package attacker

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attemptNameThread writes a name to a file of /proc with the flags of a[0], and answers with the
// name of the thread that it means. In the path a[1], OWN is the number of the thread that writes,
// OTHER that of another thread of this process, PID its process, and CHILD a child process.
func attemptNameThread(a []string) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ids, ask := make(chan int), make(chan chan string)
	go func() {
		runtime.LockOSThread()
		ids <- unix.Gettid()
		for reply := range ask {
			reply <- ownThreadName()
		}
	}()
	defer close(ask)
	other := <-ids
	path := strings.NewReplacer("OWN", strconv.Itoa(unix.Gettid()), "OTHER", strconv.Itoa(other), "PID", strconv.Itoa(os.Getpid())).Replace(a[1])
	if strings.Contains(path, "CHILD") {
		child := exec.Command("/usr/bin/sh", "-c", "read line")
		get(child.StdinPipe())
		must(child.Start())
		defer child.Wait()
		defer child.Process.Kill()
		path = strings.ReplaceAll(path, "CHILD", strconv.Itoa(child.Process.Pid))
	}
	flags := map[string]int{"rw": unix.O_RDWR, "w": unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, "excl": unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL}[a[0]]
	fd := get(unix.Open(path, flags|unix.O_CLOEXEC, 0o644))
	defer unix.Close(fd)
	get(unix.Write(fd, []byte("named")))
	if !strings.Contains(a[1], "OTHER") {
		return ownThreadName(), nil
	}
	reply := make(chan string)
	ask <- reply
	return <-reply, nil
}

func ownThreadName() string {
	var name [16]byte
	unix.Prctl(unix.PR_GET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	return unix.ByteSliceToString(name[:])
}

// attemptNameAmongEnding opens the name of a thread 20 times while those that were started before
// it end, does so in 20 rounds, and answers with how often the thread was not found.
func attemptNameAmongEnding([]string) (string, error) {
	missing := 0
	for range 20 {
		end := make(chan struct{})
		for range 20 {
			startThread(end)
		}
		stop := make(chan struct{})
		name := fmt.Sprintf("/proc/self/task/%d/comm", startThread(stop))
		close(end)
		for range 20 {
			err := Closing(unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0))
			if err == unix.ENOENT {
				missing++
			} else if err != nil {
				return "", err
			}
		}
		close(stop)
	}
	return strconv.Itoa(missing), nil
}

// startThread starts a thread that ends with the channel, and returns its number.
func startThread(end <-chan struct{}) int {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		<-end
	}()
	return <-tid
}

// attemptNameByHeir writes a thread's name through a descriptor that another process has opened
// for its own thread.
func attemptNameByHeir([]string) (string, error) {
	f := get(os.OpenFile("/proc/self/comm", os.O_RDWR, 0))
	defer f.Close()
	heir := exec.Command("/usr/bin/sh", "-c", "echo named >&3")
	heir.ExtraFiles = []*os.File{f}
	if heir.Run() != nil {
		return "refused", nil
	}
	return ownThreadName(), nil
}
