package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// takes makes a verb of a function that uses n of a resource.
func takes(take func(n int, path string) error) verb {
	return func(a map[string]string) (string, error) { return "had " + a["n"], take(number(a["n"]), a["path"]) }
}

// takeMemory holds n MB for three seconds, in a child process if child is not empty.
func takeMemory(n int, child string) error {
	if child != "" {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{"glutton-child", strconv.Itoa(n)}
		return cmd.Run()
	}
	b := make([]byte, n<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	time.Sleep(3 * time.Second)
	b[0] = 2
	return nil
}

func gluttonChildMain() {
	n, _ := strconv.Atoi(os.Args[1])
	if n > 0 {
		takeMemory(n, "")
	}
	time.Sleep(time.Hour)
}

// takeProcesses starts n processes and, if it reaches the limit, waits until the sampler
// has seen that.
func takeProcesses(n int, _ string) (err error) {
	spareThreads()
	var all []*exec.Cmd
	for range n {
		cmd := exec.Command("/bin/sleep", "60")
		if err = cmd.Start(); err != nil {
			time.Sleep(1500 * time.Millisecond)
			break
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return err
}

// spareThreads makes Go's runtime start threads in advance, since it crashes if it cannot
// start one.
func spareThreads() {
	var there sync.WaitGroup
	there.Add(8)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			there.Done()
			there.Wait()
		}()
	}
	there.Wait()
}

func takeFiles(n int, _ string) error {
	for range n {
		f, err := os.Open("/dev/null")
		if err != nil {
			return err
		}
		defer f.Close()
	}
	return nil
}

// takeSpace writes n MB to a file.
func takeSpace(n int, path string) error {
	f, err := os.Create(filepath.Join(path, "large"))
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for range n {
		if _, err := f.Write(block); err != nil {
			time.Sleep(1500 * time.Millisecond)
			return fmt.Errorf("cannot save: %w", err)
		}
	}
	return nil
}
