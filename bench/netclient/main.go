// Command netclient measures the network, without a jail or in one, and prints the result
// as one line of JSON. bench runs it.
//
//	netclient NAME        connections to NAME, ports 7000 and 7001, and HTTPS
//	netclient NAME tls    HTTPS alone
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// found is what the benchmark reads.
type found struct {
	Connect   float64 `json:"connect"`    // µs, a connection and one byte back
	RoundTrip float64 `json:"round_trip"` // µs, one byte there and back
	One       float64 `json:"one"`        // Gbit/s, one stream to the server
	Four      float64 `json:"four"`       // Gbit/s, four at once, together
	Lookup    float64 `json:"lookup"`     // µs
	Requests  float64 `json:"requests"`   // HTTPS requests a second, over one connection
}

func main() {
	var f found
	err := f.measure(os.Args[1], len(os.Args) > 2)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "netclient:", err)
		os.Exit(1)
	}
}

func (f *found) measure(name string, onlyTLS bool) (err error) {
	steps := []struct {
		to  *float64
		run func(name string) (float64, error)
	}{{&f.Lookup, lookup}, {&f.Connect, connect}, {&f.RoundTrip, roundTrip}, {&f.One, oneStream}, {&f.Four, fourStreams}, {&f.Requests, requests}}
	if onlyTLS {
		steps = steps[len(steps)-1:]
	}
	for _, s := range steps {
		if *s.to, err = s.run(name); err != nil {
			return err
		}
	}
	return nil
}

// medianOf returns the median of n times, in µs.
func medianOf(n int, f func() error) (float64, error) {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return float64(took[n/2].Nanoseconds()) / 1000, nil
}

func lookup(name string) (float64, error) {
	return medianOf(100, func() error {
		_, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", name+".")
		return err
	})
}

// Ports of bench/internet.
const (
	echoes   = "7000"
	swallows = "7001"
)

// address looks a name up before the measure, so that the lookup is not part of it.
func address(name, port string) (string, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", name+".")
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(addrs[0].String(), port), nil
}

func connect(name string) (float64, error) {
	addr, err := address(name, echoes)
	if err != nil {
		return 0, err
	}
	return medianOf(200, func() error {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		return exchange(c)
	})
}

// exchange sends a byte and waits for it.
func exchange(c net.Conn) error {
	b := []byte{'x'}
	if _, err := c.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(c, b)
	return err
}

func roundTrip(name string) (float64, error) {
	addr, err := address(name, echoes)
	if err != nil {
		return 0, err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return medianOf(2000, func() error { return exchange(c) })
}

func oneStream(name string) (float64, error)   { return streams(name, 1, 384<<20) }
func fourStreams(name string) (float64, error) { return streams(name, 4, 128<<20) }

// streams sends bytes on each of n connections, and returns Gbit/s until the server has
// read everything.
func streams(name string, n, bytes int) (float64, error) {
	addr, err := address(name, swallows)
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	failed := make([]error, n)
	began := time.Now()
	for i := range n {
		all.Go(func() { failed[i] = stream(addr, bytes) })
	}
	all.Wait()
	took := time.Since(began)
	for _, err := range failed {
		if err != nil {
			return 0, err
		}
	}
	return float64(n) * float64(bytes) * 8 / float64(took.Nanoseconds()), nil
}

func stream(addr string, bytes int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	piece := make([]byte, 256<<10)
	for ; bytes > 0; bytes -= len(piece) {
		if _, err := c.Write(piece); err != nil {
			return err
		}
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

func requests(name string) (float64, error) {
	const n = 500
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: false,
		// The certificate is not part of the measure.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	get := func() error {
		r, err := client.Get("https://" + name + "/bench/x")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", name, r.Status)
		}
		_, err = io.Copy(io.Discard, r.Body)
		return err
	}
	if err := get(); err != nil {
		return 0, err
	}
	began := time.Now()
	for range n {
		if err := get(); err != nil {
			return 0, err
		}
	}
	return n / time.Since(began).Seconds(), nil
}
