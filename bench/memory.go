package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	memoryRuns = 3                // the figures hardly differ
	memoryIdle = 16 * time.Second // the supervisor starts after a delay, and both give pages back: see package resident
)

// measureMemory adds up the memory of the processes of mcp-jail around an idle server.
func measureMemory(ctx context.Context, s *site) ([]row, error) {
	r := row{Measure: "memory of the jail, PSS", Unit: "MB", Budget: "≤ 8.3 MB", Note: s.noNode}
	if r.Note != "" {
		return []row{r}, nil
	}
	var proxy, init, sum []float64
	for range min(s.runs, memoryRuns) {
		p, i, err := s.memory(ctx)
		if errors.Is(err, os.ErrPermission) {
			r.Note = "the kernel refuses it to this user; root may read it"
			return []row{r}, nil
		}
		if errors.Is(err, os.ErrNotExist) {
			r.Note = "this system has no smaps_rollup"
			return []row{r}, nil
		}
		if err != nil {
			return nil, err
		}
		proxy, init, sum = append(proxy, p), append(init, i), append(sum, p+i)
	}
	total := summarize(sum)
	r.Jailed, r.Added = &total, &total.Median
	r.Note = fmt.Sprintf("the proxy %s MB, the jail's supervisor and init %s MB; the server itself not counted", figure(median(proxy)), figure(median(init)))
	many, err := s.memoryOfMany(ctx)
	return []row{r, many}, err
}

const manySessions = 20

// memoryOfMany adds up the memory of sessions that idle at the same time.
func (s *site) memoryOfMany(ctx context.Context) (row, error) {
	r := row{Measure: fmt.Sprintf("the same, %d sessions together", manySessions), Unit: "MB", Budget: "≤ 115 MB"}
	var pids []int
	for range manySessions {
		c, err := s.used(ctx)
		if err != nil {
			return r, err
		}
		defer c.close()
		pids = append(pids, c.cmd.Process.Pid)
	}
	if err := idle(ctx); err != nil {
		return r, err
	}
	sum := 0.0
	for _, pid := range pids {
		proxy, init, err := pssOfSession(pid)
		if err != nil {
			return r, err
		}
		sum += proxy + init
	}
	total := summarize([]float64{sum})
	r.Jailed, r.Added = &total, &total.Median
	return r, nil
}

// used returns a session after one call.
func (s *site) used(ctx context.Context) (*session, error) {
	c, err := s.open(ctx, s.jailed(s.node, s.files, s.workspace))
	if err != nil {
		return nil, err
	}
	if _, err := c.call(listDirectories); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// memory returns the PSS of the proxy and of the jail's own processes, in MB.
func (s *site) memory(ctx context.Context) (proxy, init float64, err error) {
	c, err := s.used(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()
	if err := idle(ctx); err != nil {
		return 0, 0, err
	}
	return pssOfSession(c.cmd.Process.Pid)
}

func idle(ctx context.Context) error {
	select {
	case <-time.After(memoryIdle):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pssOfSession returns the PSS of a proxy and of the processes of its jail, in MB.
func pssOfSession(pid int) (proxy, init float64, err error) {
	if proxy, err = pss(pid); err != nil {
		return 0, 0, err
	}
	// The server is a child of the jail's init, which is a child of its supervisor.
	for _, supervisor := range children(pid) {
		for _, part := range append(children(supervisor), supervisor) {
			n, err := pss(part)
			if err != nil {
				return 0, 0, err
			}
			init += n
		}
	}
	if init == 0 {
		return 0, 0, errors.New("the proxy has no child")
	}
	return proxy, init, nil
}

// pss returns the proportional set size of a process (proc(5), smaps_rollup), in MB.
func pss(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	return pssOf(string(b))
}

func pssOf(rollup string) (float64, error) {
	for line := range strings.Lines(rollup) {
		rest, ok := strings.CutPrefix(line, "Pss:")
		if !ok {
			continue
		}
		kB, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
		return kB * 1024 / 1e6, err
	}
	return 0, errors.New("smaps_rollup has no Pss")
}

// children returns the processes that any thread of a process started.
func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

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
