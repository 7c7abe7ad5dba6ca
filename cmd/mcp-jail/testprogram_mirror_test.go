package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

var (
	askedFor = regexp.MustCompile(`"method":"[a-z/]+","params":`)
	floods   = regexp.MustCompile(`"flood":(\d+)`)
)

// mirrorMain is a server that sends back the bytes that it receives, so that its output
// shows errors in both directions. With an argument it holds that many answers back, and gives
// the last one first.
func mirrorMain() {
	hold := 0
	if len(os.Args) > 1 {
		hold, _ = strconv.Atoi(os.Args[1])
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	sum, notes := sha256.New(), 0
	var held [][]byte
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			return
		}
		flood := floods.FindSubmatch(line)
		switch at := askedFor.FindIndex(line); {
		case bytes.Contains(line, []byte(`"method":"notifications/`)):
			notes++
			sum.Write(line)
			continue
		case bytes.Contains(line, []byte(`"method":"tally"`)):
			fmt.Printf(`{"jsonrpc":"2.0","id":"tally","result":{"notes":%d,"sum":"%x"}}`+"\n", notes, sum.Sum(nil))
			continue
		case at == nil: // no request with parameters
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%x"}}`+"\n", line)
			continue
		case flood != nil:
			for i, end := 0, number(string(flood[1])); i < end; i++ {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":%d,"ü":"%0200d"}}}`+"\n", i, i)
			}
			fallthrough
		default:
			held = append(held, append(append(append([]byte{}, line[:at[0]]...), `"result":`...), line[at[1]:]...))
		}
		if n == 0 || len(held) >= hold { // the answer to initialize, and else the last one first
			for i := len(held) - 1; i >= 0; i-- {
				os.Stdout.Write(held[i])
			}
			held = nil
		}
		if err != nil {
			return
		}
	}
}
