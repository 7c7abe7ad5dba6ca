package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// netFound is what netclient prints.
type netFound struct {
	Connect   float64 `json:"connect"`
	RoundTrip float64 `json:"round_trip"`
	One       float64 `json:"one"`
	Four      float64 `json:"four"`
	Lookup    float64 `json:"lookup"`
	Requests  float64 `json:"requests"`
}

// netRun is what the program measured in the namespace that stands for the host: rounds
// of netclient without a jail and in one.
type netRun struct {
	Bare      []netFound `json:"bare"`
	Jail      []netFound `json:"jail"`
	Inspected []netFound `json:"inspected"` // HTTPS requests through mcp-jail-tls
	Alone     []float64  `json:"alone"`     // ms to run true with the launcher, without a granted host
	Granted   []float64  `json:"granted"`   // and with one
	Notes     []string   `json:"notes"`     // why something is missing
}

// netBudgets are the budgets for a granted host with user namespaces.
var netBudgets = map[string]string{"connect": "≤ 300 µs", "round": "≤ 100 µs", "one": "≥ 10 Gbit/s"}

// measureNetwork compares a program that reaches a host with the same program in a jail
// that grants the host. This host and the reached one are network namespaces.
func measureNetwork(ctx context.Context, s *site) ([]row, error) {
	client, err := s.build(ctx, "bench/netclient")
	if err != nil {
		return nil, err
	}
	internet, err := s.build(ctx, "bench/internet")
	if err != nil {
		return nil, err
	}
	if _, err := s.build(ctx, "cmd/mcp-jail-tls"); err != nil { // looked for in PATH
		return nil, err
	}
	var rows []row
	for _, mode := range []struct{ name, env string }{{"", ""}, {", without user namespaces", "forbid"}} {
		run, err := s.networkRun(ctx, client, internet, mode.env)
		if err != nil {
			rows = append(rows, row{Measure: "a granted host" + mode.name, Note: firstLine(err.Error())})
			continue
		}
		rows = append(rows, run.rows(mode.name)...)
	}
	return rows, nil
}

// Roles of this program when it starts itself again.
const (
	roleEnv  = "MCPJAIL_BENCH_ROLE"
	roleHost = "host"
)

func (s *site) networkRun(ctx context.Context, client, internet, forbid string) (run netRun, err error) {
	self, err := os.Executable()
	if err != nil {
		return run, err
	}
	dir, err := os.MkdirTemp(s.dir, "network-")
	if err != nil {
		return run, err
	}
	cmd := exec.CommandContext(ctx, self, dir, client, internet, fmt.Sprint(min(s.runs, 9)), forbid)
	cmd.Env = append(os.Environ(), roleEnv+"="+roleHost, "PATH="+s.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := inNetwork(cmd); err != nil {
		return run, err
	}
	out, err := cmd.Output()
	if err != nil {
		return run, fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(complaint.String()), " "))
	}
	return run, json.Unmarshal(out, &run)
}

func (r netRun) rows(mode string) (rows []row) {
	add := func(name, unit, budget string, bare, jailed []float64) {
		if len(bare) != len(jailed) || len(bare) == 0 {
			return
		}
		if mode != "" {
			budget = ""
		}
		rows = append(rows, pairs{bare, jailed}.row(name+mode, unit, budget))
	}
	each := func(from []netFound, f func(netFound) float64) (out []float64) {
		for _, v := range from {
			out = append(out, f(v))
		}
		return out
	}
	both := func(name, unit, budget string, f func(netFound) float64) {
		add(name, unit, budget, each(r.Bare, f), each(r.Jail, f))
	}
	requests := func(v netFound) float64 { return v.Requests }
	both("a granted host: connection and one byte", "µs", netBudgets["connect"], func(v netFound) float64 { return v.Connect })
	both("round trip of one byte", "µs", netBudgets["round"], func(v netFound) float64 { return v.RoundTrip })
	both("one stream", "Gbit/s", netBudgets["one"], func(v netFound) float64 { return v.One })
	both("four streams", "Gbit/s", "", func(v netFound) float64 { return v.Four })
	both("lookup of its name", "µs", "", func(v netFound) float64 { return v.Lookup })
	both("HTTPS requests, passed on unseen", "/s", "", requests)
	add("HTTPS requests, seen (`path_prefix`)", "/s", "", each(r.Bare, requests), each(r.Inspected, requests))
	add("`true`, the launcher alone, with a granted host beside without", "ms", "", r.Alone, r.Granted)
	for i := range rows {
		if u := rows[i].Unit; u == "Gbit/s" || u == "/s" {
			rows[i].Added = nil // the ratio of two rates is enough
		}
	}
	for _, n := range r.Notes {
		rows = append(rows, row{Measure: "a granted host" + mode, Note: n})
	}
	return rows
}
