package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes the host that the figures were measured on.
type machine struct {
	Kernel    string
	Cores     int
	CPU       string
	Go        string
	Node      string
	Autogroup bool   // sched(7): processor time is shared by session where no cgroup shares it
	Load      string // of the last minute, before the first measure
	LoadAfter string
}

func machineOf(ctx context.Context) machine {
	m := machine{Kernel: runtime.GOOS, Cores: runtime.NumCPU(), CPU: runtime.GOARCH, Go: runtime.Version(), Load: load()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := processorName(string(b)); name != "" {
			m.CPU = name
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); err == nil {
		m.Autogroup = strings.TrimSpace(string(b)) == "1"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if b, err := exec.CommandContext(ctx, "node", "--version").Output(); err == nil {
		m.Node = strings.TrimSpace(string(b))
	}
	return m
}

// processorName is the first "model name" of proc(5) cpuinfo; arm64 has none.
func processorName(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load returns the load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

func (m machine) String() string {
	s := fmt.Sprintf("%s, %d cores, %s, %s", m.Kernel, m.Cores, m.CPU, m.Go)
	if m.Node != "" {
		s += ", node " + m.Node
	}
	if m.Autogroup {
		s += ", autogroup on"
	}
	if m.Load != "" {
		s += ", load " + m.Load + " before and " + m.LoadAfter + " after"
	}
	return s
}
