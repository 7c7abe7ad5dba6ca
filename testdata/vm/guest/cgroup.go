package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// cgroupOfUser delegates a cgroup to the user, as a container or a service with Delegate=
// does, and runs the tests of limits in a leaf of it. Root needs no such check: all checks
// run in the root of the hierarchy, where root can make cgroups.
func (k *runningKernel) cgroupOfUser() (string, error) {
	if !k.holds() {
		return "", errNotHere("no jail can be built here")
	}
	const dir = "/sys/fs/cgroup/delegated"
	if err := errors.Join(os.MkdirAll(dir+"/leaf", 0o755), os.WriteFile(dir+"/cgroup.subtree_control", []byte("+memory +pids"), 0)); err != nil {
		return "", err
	}
	for _, f := range []string{"", "/cgroup.procs", "/cgroup.subtree_control", "/leaf", "/leaf/cgroup.procs"} {
		if err := os.Chown(dir+f, int(user), int(user)); err != nil {
			return "", err
		}
	}
	leaf, err := os.Open(dir + "/leaf")
	if err != nil {
		return "", err
	}
	defer leaf.Close()
	run := func(dir string, argv ...string) (string, error) {
		cmd := user.command(argv...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Setsid: true, Credential: cmd.SysProcAttr.Credential, UseCgroupFD: true, CgroupFD: int(leaf.Fd()),
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	words, err := run("/home/user", "mcp-jail", "doctor")
	if err != nil || !strings.Contains(words, "below "+dir) {
		return "", fmt.Errorf("doctor: %v\n%s", err, words)
	}
	out, err := run("/vm/confine", "./tests", "-test.v", "-test.run=^TestJail(Cgroup.*|Memory|Processes|TellsLimits)$")
	if err != nil {
		return "", fmt.Errorf("%v\n%s", err, failures([]byte(out)))
	}
	left, err := os.ReadDir(dir)
	for _, d := range left {
		if d.IsDir() && d.Name() != "leaf" {
			return "", fmt.Errorf("left behind: %s", d.Name())
		}
	}
	return fmt.Sprintf("%d passed", len(verdictLine.FindAllString(out, -1))), err
}
