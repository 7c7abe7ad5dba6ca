package attacker

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

func streamVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"hold": silent(func(a []string) error {
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, c)
			return err
		}),
		"many": func(a []string) (string, error) { // a[0] connections, a[1] at once, to a[2]
			var wg sync.WaitGroup
			todo, failures := make(chan struct{}), make(chan error, Number(a[0]))
			for range Number(a[1]) {
				wg.Go(func() {
					for range todo {
						if got, err := caught(greetingVerbs()["greeted"], a[2:]); err != nil || got == "" {
							failures <- fmt.Errorf("%q, %v", got, err)
						}
					}
				})
			}
			for range Number(a[0]) {
				todo <- struct{}{}
			}
			close(todo)
			wg.Wait()
			close(failures)
			n := len(failures)
			return strconv.Itoa(n) + " failed", <-failures
		},
		"last-words": silent(func(a []string) error { // sends a[1] bytes, and waits for nothing
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			_, err = c.Write(make([]byte, Number(a[1])))
			return err
		}),
		"halves": func(a []string) (string, error) { // sends, shuts its side, then reads
			c := get(net.Dial("tcp", a[0]))
			defer c.Close()
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			go func() {
				c.Write(sent)
				c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err == nil && !bytes.Equal(got, sent) {
				err = fmt.Errorf("%d bytes came back of %d", len(got), len(sent))
			}
			return "", err
		},
	}
}

func egressVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"get": func(a []string) (string, error) { // by Go's own resolver and TLS
			r := get(http.Get(a[0]))
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			return string(b), err
		},
		"post": func(a []string) (string, error) {
			r := get(http.Post(a[0], "text/plain", strings.NewReader("posted")))
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			return string(b), err
		},
		"handshake": func(a []string) (string, error) { // with one address, which names another host
			c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", a[0], &tls.Config{ServerName: a[1], InsecureSkipVerify: true})
			if err != nil {
				return "", err
			}
			return "shaken", c.Close()
		},
		"answered": func(a []string) (string, error) { // bytes that are neither TLS nor HTTP
			c := get(net.DialTimeout("tcp", a[0], 10*time.Second))
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprint(c, "\x00\x01 neither\n")
			line, err := bufio.NewReader(c).ReadString('\n')
			return strings.TrimSpace(line), err
		},
	}
}

func greetingVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"greeted": func(a []string) (string, error) {
			c := get(net.DialTimeout("tcp", a[0], 10*time.Second))
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			line, err := bufio.NewReader(c).ReadString('\n')
			return strings.TrimSpace(line), err
		},
		"asked": func(a []string) (string, error) { // one address, with the Host header of another name
			c := get(net.DialTimeout("tcp", a[0], 10*time.Second))
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", a[1])
			b, err := io.ReadAll(c)
			if err == nil && len(b) == 0 {
				err = io.ErrUnexpectedEOF
			}
			return string(b), err
		},
		"looked-up": func(a []string) (string, error) {
			addrs, err := net.LookupHost(a[0])
			return strings.Join(addrs, " "), err
		},
		"taken": silent(func(a []string) error { // listen where the jail's network does
			l, err := net.Listen("tcp", a[0])
			if err == nil {
				l.Close()
			}
			return err
		}),
	}
}
