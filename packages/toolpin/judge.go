package toolpin

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxVariants is the number of a server's pins from which on Judge calls no other list new. A
// server may list other tools for other arguments and other clients, and each such list has a pin
// of its own.
const maxVariants = 32

// Name returns the name of the pin for a server with these arguments and a client with
// these capabilities: "default" without any. The name tells nothing about the arguments,
// which may be secret, to a reader who does not know them. capabilities is JSON, or nil.
func Name(arguments []string, capabilities []byte) string {
	var parts []string
	if len(arguments) > 0 {
		var all []byte
		for _, a := range arguments {
			all = append(strconv.AppendInt(all, int64(len(a)), 10), ' ')
			all = append(all, a...)
		}
		parts = append(parts, "args-"+shortHash(all))
	}
	// Equal capabilities have one name, however the client spells them.
	canonical, err := canonical(capabilities)
	if err != nil {
		canonical = JSON(capabilities)
	}
	if canonical != "" && canonical != "{}" && canonical != "null" {
		parts = append(parts, "client-"+shortHash([]byte(canonical)))
	}
	if parts == nil {
		return "default"
	}
	return strings.Join(parts, "-")
}

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// A Verdict says how a list of tools compares with the pins of its server. The zero Verdict says that
// the list differs from no pin and becomes none: usually, it is pinned.
type Verdict struct {
	// New means that the list becomes the pin of its name. It is the server's first list, or
	// nothing is pinned by this name and each tool that a pin has is in some pin as it is here. A
	// list without tools is never new: a server that could not start properly often has none.
	New bool
	// Differences are those from the closest pin.
	Differences []Difference
}

// Refused reports whether a model would read something else than what is pinned.
func (v Verdict) Refused() bool {
	return slices.ContainsFunc(v.Differences, func(d Difference) bool { return !d.Mild() })
}

// Judge compares a list with the pins of a server. name is that of the list's own pin. A
// list that equals any pin is pinned. part says that the list is one page of several: then
// tools may be missing, a tool that is pinned several times is not compared, and the list
// is never new. A pin or a list with the zero Server is compared by its tools only.
func Judge(pins map[string]*Pin, name string, p *Pin, part bool) Verdict {
	whole := !part && len(p.Tools) > 0
	if len(pins) == 0 {
		return Verdict{New: whole}
	}
	closest := closestTo(pins, name, p, part)
	if len(closest) == 0 {
		return Verdict{}
	}
	if pins[name] == nil && len(pins) < maxVariants && !contradicts(pins, p, part) {
		return Verdict{New: whole}
	}
	return Verdict{Differences: closest}
}

// Closest returns the differences of a whole list from the closest of the pins. Unlike Judge, it
// returns them for a new list, too. Without pins there are none.
func Closest(pins map[string]*Pin, name string, p *Pin) []Difference {
	return closestTo(pins, name, p, false)
}

func closestTo(pins map[string]*Pin, name string, p *Pin, part bool) (closest []Difference) {
	for _, n := range slices.Sorted(maps.Keys(pins)) {
		d := differences(pins[n], p, part)
		if len(d) == 0 {
			return nil
		}
		if closest == nil || weight(d) < weight(closest) || weight(d) == weight(closest) && n == name {
			closest = d
		}
	}
	return closest
}

// JudgeServer compares the instructions of a server with its pins, before the tools are known. It
// finds no differences if nothing is pinned by this name: the list may be new.
func JudgeServer(pins map[string]*Pin, name string, s Server) Verdict {
	own := pins[name]
	if own == nil {
		return Verdict{}
	}
	for _, p := range pins {
		if p.Server == (Server{}) || p.Server.Instructions == s.Instructions {
			return Verdict{}
		}
	}
	old := own.Server
	old.Name, old.Version = s.Name, s.Version
	return Verdict{Differences: compareServers(old, s)}
}

// weight orders differences: one that is not mild counts more than any mild ones.
func weight(all []Difference) (n int) {
	for _, d := range all {
		if n++; !d.Mild() {
			n += 2 * maxTools
		}
	}
	return n
}

func differences(old, p *Pin, part bool) []Difference {
	if old.Server == (Server{}) || p.Server == (Server{}) {
		same := *p
		same.Server = old.Server
		p = &same
	}
	all := Compare(old, p)
	if !part {
		return all
	}
	return slices.DeleteFunc(all, func(d Difference) bool {
		t := old.Find(d.Tool)
		return d.Member == "" && d.New == "" || t != nil && t.Times > 1
	})
}

func contradicts(pins map[string]*Pin, p *Pin, part bool) bool {
	for i := range p.Tools {
		t := &p.Tools[i]
		known, same := false, false
		for _, old := range pins {
			if o := old.Find(t.Name); o != nil {
				known = true
				same = same || o.sameDefinition(t) && o.Annotations == t.Annotations || part && o.Times > 1
			}
		}
		if known && !same {
			return true
		}
	}
	return false
}
