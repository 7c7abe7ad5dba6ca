package grantcmd

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/tried"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func sideOf(t *session.Target) tried.Side { return tried.Side{Policy: t.Policy, Profile: t.Profile} }

// compare returns what a server gets after a change that it does not get before. It returns an error if the
// server then has another policy than the one that it tried, or other settings.
func compare(before, after *session.Target, home string) (more []string, err error) {
	tools := []string{""}
	if !before.Policy.Stateful {
		tools = append(tools, config.AnyTool)
		for _, t := range []*session.Target{before, after} {
			tools = append(tools, t.Config.ToolsWithTable(t.Policy.Server)...)
		}
		slices.Sort(tools)
		tools = slices.Compact(tools)
	}
	for _, tool := range tools {
		was, is := before, after
		if tool != "" {
			if was, err = before.Tool(tool); err != nil {
				return nil, err
			}
			if is, err = after.Tool(tool); err != nil {
				return nil, err
			}
		}
		j, err := session.JudgeOf(before, was.Profile)
		if err != nil {
			return nil, err
		}
		beyond, err := compareProcess(sideOf(was), j.Side(), sideOf(is), home)
		if err != nil {
			return nil, err
		}
		for _, text := range beyond {
			if tool != "" {
				text = "for " + show.Name(tool) + " " + text
			}
			more = append(more, text)
		}
	}
	return more, nil
}

func compareProcess(was, judged, is tried.Side, home string) (more []string, err error) {
	if extra := tried.Beyond(is, judged, home); len(extra) > 0 {
		return nil, fmt.Errorf("a preset, the defaults or another file of the configuration would grant more than the policy that is tried: %s", extra[0])
	}
	beyond := tried.Beyond(judged, was, home)
	for _, lost := range tried.Beyond(judged, is, home) {
		if !slices.Contains(beyond, lost) {
			return nil, fmt.Errorf("the table would not grant what the policy that is tried grants: %s", lost)
		}
	}
	if what := other(was.Profile, is.Profile); what != "" {
		return nil, fmt.Errorf("the server would have another %s, which --try does not try", what)
	}
	return tried.Beyond(is, was, home), nil
}

// other names a setting in which two profiles differ, and that is no grant.
func other(a, b *policy.Profile) string {
	for _, s := range []struct {
		name string
		a, b any
	}{
		{"program", a.Program, b.Program}, {"command line", a.Argv, b.Argv}, {"working directory", a.Dir, b.Dir},
		{"HOME", a.Home, b.Home}, {"kind of HOME", a.HomePrivate, b.HomePrivate}, {"limit", a.Limits, b.Limits},
		{"time to start", a.Startup, b.Startup}, {"time for a call", a.Call, b.Call}, {"value of roots", a.Roots, b.Roots},
		{"value of undo", a.Undo, b.Undo}, {"value of leaks", a.Leaks, b.Leaks}, {"value of leak_patterns", a.LeakPatterns, b.LeakPatterns},
	} {
		if !reflect.DeepEqual(s.a, s.b) {
			return s.name
		}
	}
	return ""
}
