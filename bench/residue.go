package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// manyCalls makes a thousand calls in a row and counts what they leave behind.
func (s *site) manyCalls(ctx context.Context, server tooled) (r row, err error) {
	const calls, settle = 1000, 100
	r = row{Measure: "1000 calls in a row, cold, " + server.name, Unit: "ms"}
	c, err := s.configured(ctx, false, 0, server.argv)
	if err != nil {
		return r, err
	}
	defer c.close()
	var took []float64
	var before, after residue
	for i := range calls {
		if i == settle {
			time.Sleep(2 * time.Second) // until the last processes have ended
			before = s.residue(c.cmd.Process.Pid)
		}
		d, err := c.call(server.call)
		if err != nil {
			return r, err
		}
		took = append(took, ms(d))
	}
	time.Sleep(2 * time.Second)
	after = s.residue(c.cmd.Process.Pid)
	sum := summarize(took)
	r.Jailed = &sum
	r.Note = fmt.Sprintf("from the %dth call to the last: %v becomes %v", settle, before, after)
	return r, nil
}

// residue counts what a session holds.
type residue struct {
	pss                             float64
	files, threads, processes, dirs int
	mounts                          int
}

func (s *site) residue(pid int) (r residue) {
	r.pss, _ = pss(pid)
	count := func(dir string) int {
		entries, _ := os.ReadDir(dir)
		return len(entries)
	}
	r.files = count(fmt.Sprintf("/proc/%d/fd", pid))
	r.threads = count(fmt.Sprintf("/proc/%d/task", pid))
	r.processes = len(children(pid))
	filepath.WalkDir(s.dir, func(string, os.DirEntry, error) error { r.dirs++; return nil })
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, b := range mounts {
		if b == '\n' {
			r.mounts++
		}
	}
	return r
}

func (r residue) String() string {
	return fmt.Sprintf("%.1f MB, %d descriptors, %d threads, %d children, %d files, %d mounts", r.pss, r.files, r.threads, r.processes, r.dirs, r.mounts)
}
