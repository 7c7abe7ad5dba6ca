package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReferences tests which variables a client finds in a text.
func TestReferences(t *testing.T) {
	for _, c := range testkit.Table[struct{ client, text, want string }](t, "references.txt") {
		client := testkit.Get(ByName(c.client))(t)
		var got []string
		for _, r := range client.References(c.text) {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s", r.Kind, r.Name, r.Default), " "))
		}
		testkit.Equal(t, fmt.Sprintf("%s: %q: %q", c.client, c.text, got), strings.Join(got, "; "), c.want)
	}
}

// TestExpands: what some client replaces, show.Expands knows, so that no line is proposed with it.
func TestExpands(t *testing.T) {
	for _, c := range All() {
		for _, f := range c.Forms {
			text := f.Open + f.Close
			if f.Named {
				text = f.Open + "a" + f.Close
			}
			if len(c.References(text)) == 0 || !show.Expands("/x/"+text+"/y") {
				t.Errorf("%s: %q: %v", c.Name, text, c.References(text))
			}
		}
	}
}
