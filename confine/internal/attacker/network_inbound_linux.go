package attacker

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// callbackVerb listens like a program that waits for an OAuth callback, and ends after a[1]
// answers.
func callbackVerb(a []string) (string, error) {
	l := get(net.Listen("tcp", a[0]))
	fmt.Println("listening")
	var heard []string
	for range Number(a[1]) {
		c := get(l.Accept())
		b := get(io.ReadAll(c))
		io.WriteString(c, "heard "+string(b))
		c.Close()
		heard = append(heard, string(b))
	}
	return strings.Join(heard, " "), nil
}

// partingVerb answers a client with many bytes and ends before they have arrived.
func partingVerb(a []string) (string, error) {
	l, err := net.Listen("tcp", a[0])
	if err != nil {
		return "", err
	}
	fmt.Println("listening")
	c, err := l.Accept()
	if err != nil {
		return "", err
	}
	_, err = c.Write(make([]byte, Number(a[1])))
	fmt.Println("answered")
	os.Exit(map[bool]int{true: 0, false: 1}[err == nil])
	return "", nil
}
