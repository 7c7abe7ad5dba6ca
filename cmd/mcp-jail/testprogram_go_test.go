package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// probeGo uses threads, a child process, loopback and files.
func probeGo(map[string]string) (string, error) {
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { runtime.LockOSThread(); runtime.Gosched() })
	}
	wg.Wait()
	out, err := exec.Command("sh", "-c", "echo child").Output()
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "loopback") }))
	r, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var body bytes.Buffer
	body.ReadFrom(r.Body)
	_, sshErr := os.ReadDir(filepath.Join(filepath.Dir(os.Getenv("TEST_WORK")), "home", ".ssh"))
	return strings.TrimSpace(string(out)) + " " + body.String() + fmt.Sprint(" ", sshErr != nil), os.WriteFile("from-go.txt", []byte("x"), 0o644)
}
