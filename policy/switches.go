package policy

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// AnyTool stands for all tools that have no table of their own.
const AnyTool = "*"

// Switches say which tools of a server are on. Without one for it, or for AnyTool, a tool is on.
type Switches []Switch

// A Switch is what a table says of one tool, or of AnyTool.
type Switch struct {
	Tool   string `json:"tool"`
	On     bool   `json:"on"`
	Where  string `json:"where,omitempty"`
	folded string
}

// NewSwitch returns the switch of a tool.
func NewSwitch(tool string, on bool, where string) Switch { return Switch{tool, on, where, fold(tool)} }

// IsSame reports whether two switches are for names that a server may take for one.
func (s Switch) IsSame(o Switch) bool { return s.folded == o.folded }

// Off returns the switch by which a tool is off. A name is off like any name that a server may take for it, and on
// only as it is written.
func (s Switches) Off(tool string) (by Switch, off bool) {
	if len(s) == 0 {
		return by, false
	}
	on, folded := false, fold(tool)
	for _, o := range s {
		switch {
		case o.Tool == AnyTool && !o.On:
			by, off = o, true
		case o.On:
			on = on || o.Tool == tool
		case o.folded == folded:
			return o, true
		}
	}
	return by, off && !on
}

// Meet returns switches by which a tool is on if it is on by both.
func (s Switches) Meet(o Switches) Switches {
	isOff := func(by Switches) func(Switch) bool {
		return func(one Switch) bool { _, off := by.Off(one.Tool); return one.On && off }
	}
	return append(slices.DeleteFunc(slices.Clone(s), isOff(o)), slices.DeleteFunc(slices.Clone(o), isOff(s))...)
}

// Texts returns in words what the switches say, each with its place.
func (s Switches) Texts() (texts []string) {
	for _, o := range s {
		texts = append(texts, strings.TrimSuffix(o.Name()+" is "+map[bool]string{true: "on", false: "off"}[o.On]+" ("+o.Where+")", " ()"))
	}
	return texts
}

// Name returns what a switch is for, in a sentence.
func (s Switch) Name() string {
	if s.Tool == AnyTool {
		return "every other tool"
	}
	return show.InSentence(s.Tool)
}

// fold returns the common form of the names that a server may take for one: without regard to case, to the forms that
// Unicode has for one character, and to characters that do not show. It is a little wider than case folding.
func fold(tool string) string {
	shown := func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.In(r, unicode.White_Space, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}
	lower := strings.ToLower(strings.ToUpper(norm.NFKC.String(strings.Map(shown, tool))))
	return strings.ReplaceAll(norm.NFKC.String(lower), "ß", "ss")
}
