package config

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// This package knows presets by name only. Its caller finds the preset of a table, and lays
// it below the table before it asks for a policy.

// LayBelow lays a table below the configured server name, as if a layer before all others had
// it: values of the server's own table win, and its lists join those of below by the strategies
// that were written for them. The server's name, its place and its preset stay. below is not
// changed. A server that is not configured, or has a table below it already, stays as it is.
//
// Tools that only below has a table for are not among [Config.DeclaredTools]. ws are what
// [Config.Warnings] says of the preset.
func (c *Config) LayBelow(name string, below *Server, ws ...policy.Warning) {
	own := c.Servers[name]
	if own == nil || own.hasBelow {
		return
	}
	s := &Server{Name: name}
	s.overlay(below)
	for _, l := range own.laidTables() {
		s.overlay(l)
	}
	for tool, t := range s.Tools {
		t.below = own.Tools[tool] == nil
	}
	s.Preset, s.PresetWhere, s.Where = own.Preset, own.PresetWhere, own.Where
	s.Project, s.replaces, s.hasBelow, s.warnings = own.Project, own.replaces, true, ws
	s.own = own
	c.Servers[name] = s
}

// checkPresets returns an error if a server names a preset and nothing is laid below it. Its
// policy would lack rules, and what other processes may write would be unknown.
func (c *Config) checkPresets() error {
	for _, name := range c.ServerNames() {
		if s := c.Servers[name]; s.Preset != "" && !s.hasBelow {
			return fmt.Errorf("%s: the preset %s of server %q was not applied: this is a mistake in mcp-jail", s.PresetWhere, s.Preset, name)
		}
	}
	return nil
}

// Warnings returns the warnings about the layers of a server: what a project's server does not have, what of a
// project's file has no effect, and those of its preset, which LayBelow got.
func (c *Config) Warnings(server string) []policy.Warning {
	s := c.Servers[server]
	if s == nil {
		return nil
	}
	_, _, without := c.inForce(s)
	return slices.Concat(s.droppedGrants(), without, s.warnings)
}

// PresetProblem returns an error about the preset that a server names, with its place.
func (s *Server) PresetProblem(err error) policy.Problem {
	file, line := policy.SplitPosition(s.PresetWhere)
	return policy.Problem{File: file, Line: line, Key: "servers." + show.Key(s.Name) + ".preset", Message: err.Error()}
}
