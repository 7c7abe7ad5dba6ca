package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// maxListening bounds what is read of the kernel's list of sockets: 500 of them.
const maxListening = 75_000

// Listening returns the TCP ports at which programs of the network namespace of a process listen,
// sorted. known is false if that is our own, or if the process has ended.
func Listening(pid int) (ports []int, known bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	own, err := os.Readlink("/proc/self/ns/net")
	theirs, errTheirs := os.Readlink(dir + "/ns/net")
	if err != nil || errTheirs != nil || own == theirs {
		return nil, false
	}
	ports = []int{}
	for _, name := range []string{"/net/tcp", "/net/tcp6"} {
		more, err := readListening(dir + name)
		if err != nil && !os.IsNotExist(err) { // no IPv6
			return nil, false
		}
		ports = append(ports, more...)
	}
	slices.Sort(ports)
	return slices.Compact(ports), true
}

// readListening returns the ports of the listening sockets in a list of proc_pid_net(5).
func readListening(file string) (ports []int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, maxListening)
	n := 0
	for n < len(buf) {
		more, err := f.Read(buf[n:])
		if n += more; err != nil || more == 0 {
			break
		}
	}
	for line := range bytes.Lines(buf[:n]) {
		fields := bytes.Fields(line) // sl, local address, remote address, state
		if len(fields) < 4 || string(fields[3]) != "0A" {
			continue
		}
		if i := bytes.LastIndexByte(fields[1], ':'); i >= 0 {
			if port, err := strconv.ParseUint(string(fields[1][i+1:]), 16, 16); err == nil {
				ports = append(ports, int(port))
			}
		}
	}
	return ports, nil
}
