package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// stage is what the attacks aim at.
type stage struct {
	Grant   string // a directory that is granted to read and write, with files that are protected
	Secret  string // a directory beside it that is not granted
	TCP4    string // services of the driver
	TCP6    string
	UDP     string
	Socket  string // of the driver, in Secret
	Driver  int    // its process
	Program string // this program
	Canary  string // "NAME=value" in the environment of the driver
}

// set makes the stage anew: attacks change it.
func (s *stage) set() error {
	for _, dir := range []string{s.Grant, s.Secret} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		s.Secret + "/key": "secret", s.Secret + "/dir/deep": "secret", s.Grant + "/work": "work", s.Grant + "/.env": "TOKEN=secret",
		s.Grant + "/.git/hooks/x": "x", s.Grant + "/.git/config": "[core]\n", s.Grant + "/.git/HEAD": "ref: refs/heads/main\n",
		s.Grant + "/.vscode/tasks.json": "{}", s.Grant + "/.mcp.json": "{}", s.Grant + "/ready/tasks.json": "evil",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/.git/objects", "/.git/refs"} {
		if err := os.MkdirAll(s.Grant+dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// attacks makes each attack outside a jail and inside one.
func attacks(program string, flags []string) error {
	base, err := os.MkdirTemp(home(), ".mcp-jail-systems-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// It starts in another directory than this program.
	if program, err = exec.LookPath(program); err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	s := stage{Grant: base + "/grant", Secret: base + "/secret", Driver: os.Getpid(), Program: self, Canary: "MCP_JAIL_CANARY=" + filepath.Base(base)}
	if os.Getenv("MCP_JAIL_CANARY") == "" { // a process shows the environment of its start
		c := exec.Command(self, os.Args[1:]...)
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), s.Canary), os.Stdout, os.Stderr
		return c.Run()
	}
	s.Canary = "MCP_JAIL_CANARY=" + os.Getenv("MCP_JAIL_CANARY")
	if err := s.set(); err != nil {
		return err
	}
	services, err := s.listen(base)
	if err != nil {
		return err
	}
	defer services.close()
	plan := base + "/plan.json" // the attacker's own, which is granted to read
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(plan, text, 0o644); err != nil {
		return err
	}
	line := slices.Concat([]string{program, "run", "--name", "attacker"}, granted(s, plan), flags, []string{"--", self, "serve", plan})
	var bad []string
	for _, name := range names() {
		outside, inside := s.try([]string{self, "serve", plan}, name, services), s.try(line, name, services)
		fmt.Printf("| %s | %s | %s |\n", name, outside, inside)
		if outside != succeeded {
			bad = append(bad, name+" shows nothing here: without a jail: "+outside)
		}
		if inside == succeeded || strings.HasPrefix(inside, "no answer") {
			bad = append(bad, name+" in the jail: "+inside)
		}
	}
	if bad != nil {
		return errors.New(strings.Join(bad, "\n"))
	}
	fmt.Printf("%d attacks succeed without a jail, and none in it\n", len(names()))
	return nil
}

func home() string { dir, _ := os.UserHomeDir(); return dir }

// try has a server make an attack, and returns its outcome.
func (s *stage) try(line []string, name string, services *services) string {
	if err := s.set(); err != nil {
		return "no answer: " + err.Error()
	}
	services.forget()
	c := exec.Command(line[0], line[1:]...)
	c.Dir = s.Grant
	var said strings.Builder
	c.Stderr = &said
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		return "no answer: " + err.Error()
	}
	late := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	defer late.Stop()
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"systems","version":"1"}}}`+"\n")
	fmt.Fprintf(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{}}}`+"\n", name)
	outcome := "no answer: " + lastLine(&said)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var answer struct {
			ID     int
			Error  *struct{ Message string }
			Result struct{ Content []struct{ Text string } }
		}
		if json.Unmarshal(lines.Bytes(), &answer) != nil || answer.ID != 2 && answer.Error == nil {
			continue
		}
		if answer.Error != nil {
			outcome = "no answer: " + answer.Error.Message
		} else if len(answer.Result.Content) > 0 {
			outcome = answer.Result.Content[0].Text
		}
		break
	}
	in.Close()
	io.Copy(io.Discard, out)
	c.Wait()
	if outcome == "no answer: " {
		outcome += lastLine(&said)
	}
	if outcome == "sent" { // what arrived decides
		outcome = services.arrived(name)
	}
	return outcome
}

func lastLine(b *strings.Builder) string {
	all := strings.Split(strings.TrimSpace(b.String()), "\n")
	return all[len(all)-1]
}

// services are what the driver listens at.
type services struct {
	listeners []net.Listener
	packets   net.PacketConn
	udp       chan struct{}
	alive     string // a file that a process writes that should be gone
}

func (s *stage) listen(base string) (*services, error) {
	v := &services{udp: make(chan struct{}, 1), alive: s.Grant + "/alive"}
	if runtime.GOOS == "windows" {
		return v, nil // no attack there is about the network
	}
	s.Socket = s.Secret + "/s"
	if len(s.Socket) > 100 {
		return nil, fmt.Errorf("the path of a socket is too long: %s", s.Socket)
	}
	for _, at := range []struct{ network, address string }{{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}} {
		l, err := net.Listen(at.network, at.address)
		if err != nil {
			return nil, err
		}
		v.listeners = append(v.listeners, l)
		go accept(l)
	}
	s.TCP4, s.TCP6 = v.listeners[0].Addr().String(), v.listeners[1].Addr().String()
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v.packets, s.UDP = packets, packets.LocalAddr().String()
	go func() {
		for b := make([]byte, 16); ; {
			if _, _, err := packets.ReadFrom(b); err != nil {
				return
			}
			select {
			case v.udp <- struct{}{}:
			default:
			}
		}
	}()
	return v, nil
}

func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Write([]byte("hello"))
		c.Close()
	}
}

// forget drops what came before, and makes the socket in the stage anew.
func (v *services) forget() {
	select {
	case <-v.udp:
	default:
	}
	if v.packets == nil {
		return
	}
	if len(v.listeners) == 3 {
		v.listeners[2].Close()
		v.listeners = v.listeners[:2]
	}
	if l, err := net.Listen("unix", filepath.Dir(filepath.Dir(v.alive))+"/secret/s"); err == nil {
		v.listeners = append(v.listeners, l)
		go accept(l)
	}
}

// lateAfter is when a process that was left behind shows that it goes on: later than a jail takes to end.
const lateAfter = 5 * time.Second

// arrived returns the outcome of an attack that only the driver can see.
func (v *services) arrived(name string) string {
	if strings.HasPrefix(name, "process: ") {
		time.Sleep(lateAfter + 2*time.Second)
		if _, err := os.Stat(v.alive); err == nil {
			return succeeded
		}
		return "it is gone"
	}
	select {
	case <-v.udp:
		return succeeded
	case <-time.After(time.Second):
		return "nothing arrived"
	}
}

func (v *services) close() {
	for _, l := range v.listeners {
		l.Close()
	}
	if v.packets != nil {
		v.packets.Close()
	}
}
