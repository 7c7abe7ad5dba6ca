package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"
	"unicode/utf8"
)

// faultyMain is a server that sends back the bytes that it receives, so that its output
// shows errors in both directions:
//
//	faulty [lossy KIND] MODE [N]
//
// With lossy its input and output pass a relay that makes a mistake. Tests use it to show
// that they can fail.
func faultyMain() {
	args, out, flush := os.Args[1:], io.Writer(os.Stdout), func() {}
	in := io.Reader(os.Stdin)
	if args[0] == "lossy" {
		in, out, flush = lossy(args[1])
		args = args[2:]
	}
	f := faulty{in: bufio.NewReaderSize(in, 1<<20), out: out, mode: args[0]}
	if len(args) > 1 {
		f.n, _ = strconv.Atoi(args[1])
	}
	if f.mode == "stderr-until-eof" {
		signal.Ignore(syscall.SIGPIPE)
	}
	status := f.serve()
	flush()
	os.Exit(status)
}

type faulty struct {
	in    *bufio.Reader
	out   io.Writer
	mode  string
	n     int
	notes int
	held  [][]byte
}

var (
	askedFor = regexp.MustCompile(`"method":"[a-z/]+","params":`)
	floods   = regexp.MustCompile(`"flood":(\d+)`)
)

// serve runs the server and returns the exit status.
func (f *faulty) serve() int {
	sum := sha256.New()
	for n := 0; ; n++ {
		line, err := f.in.ReadBytes('\n')
		if n == 1 {
			switch f.mode {
			case "half": // exits after half a message
				f.say([]byte(`{"jsonrpc":"2.0","id":1,"resu`))
				return 9
			case "half-killed":
				f.say([]byte("{"))
				if p, err := os.FindProcess(os.Getpid()); err == nil {
					p.Kill()
				}
				select {}
			case "stderr": // with stdout closed
				os.Stdout.Close()
				f.complain()
				return 5
			case "stderr-until-eof":
				go func() {
					for {
						f.complain()
					}
				}()
			}
		}
		if len(line) == 0 {
			break
		}
		flood := floods.FindSubmatch(line)
		switch at := askedFor.FindIndex(line); {
		case bytes.Contains(line, []byte(`"method":"notifications/`)):
			f.notes++
			sum.Write(line)
			continue
		case bytes.Contains(line, []byte(`"method":"tally"`)):
			f.say(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"tally","result":{"notes":%d,"sum":"%x"}}`+"\n", f.notes, sum.Sum(nil)))
			continue
		case at == nil: // no request with parameters
			f.say(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%x"}}`+"\n", line))
			continue
		case flood != nil:
			for i, end := 0, atoi(flood[1]); i < end; i++ {
				f.say(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":%d,"ü":"%0200d"}}}`+"\n", i, i))
			}
			fallthrough
		default:
			answer := append(append(append([]byte{}, line[:at[0]]...), `"result":`...), line[at[1]:]...)
			if f.mode != "hold" || n == 0 {
				f.say(answer)
				break
			}
			f.held = append(f.held, answer)
		}
		for len(f.held) >= f.n && len(f.held) > 0 { // the last request first
			f.say(f.held[len(f.held)-1])
			f.held = f.held[:len(f.held)-1]
			f.n = len(f.held)
		}
		if err != nil {
			break
		}
	}
	if f.mode == "stderr-until-eof" {
		return 6
	}
	return 0
}

func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}

func (f *faulty) complain() {
	for i := range f.n {
		fmt.Fprintf(os.Stderr, "complaint %d of many\n", i)
	}
}

func (f *faulty) say(line []byte) {
	if f.mode != "bytewise" {
		f.out.Write(line)
		return
	}
	for i := range line {
		f.out.Write(line[i : i+1])
		time.Sleep(50 * time.Microsecond) // so that no read gets several
	}
}

// lossy starts a relay with the mistake kind between the server and the client.
func lossy(kind string) (in io.Reader, out io.Writer, flush func()) {
	inR, inW, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	toServer := kind
	if kind == "drops" || kind == "hoards" { // the server needs its whole input
		toServer = ""
	}
	go func() {
		mangle(toServer, os.Stdin, inW)
		inW.Close()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		mangle(kind, outR, os.Stdout)
	}()
	return inR, outW, func() { outW.Close(); <-done }
}

func mangle(kind string, from io.Reader, to io.Writer) {
	switch kind {
	case "hoards": // reads 60 MB before it writes
		b, _ := io.ReadAll(io.LimitReader(from, 60<<20))
		to.Write(b)
		io.Copy(to, from)
		return
	case "reads": // takes the result of each read for a message
		b := make([]byte, 64<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			to.Write(append(bytes.TrimSuffix(b[:n], []byte("\n")), '\n'))
		}
	}
	lines := bufio.NewReaderSize(from, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch text := bytes.TrimSuffix(line, []byte("\n")); {
		case len(line) == 0:
		case (kind == "drops" || kind == "forgets") && n == 777, kind == "short" && len(line) > 64<<10:
			line = nil
		case kind == "trims":
			line = append(bytes.TrimSuffix(text, []byte("\r")), '\n')
		case kind == "ends":
			line = append(text, '\n')
		case kind == "corrects":
			line = bytes.ToValidUTF8(line, []byte(string(utf8.RuneError)))
		case kind == "decodes":
			var v any
			if json.Unmarshal(text, &v) == nil {
				line, _ = json.Marshal(v)
				line = append(line, '\n')
			}
		}
		to.Write(line)
		if err != nil {
			return
		}
	}
}
