package change

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Source says where the wish for a change comes from, and how it is known.
type Source uint8

const (
	Said     Source = iota // by the words of a server
	Recorded               // by the jail, which refused it
	Entry                  // by the user's own entry of a client
	Typed                  // by the user
	Foreign                // by an entry or a file of others
)

// Verdict is what may become of a change.
type Verdict uint8

const (
	Never  Verdict = iota // it is not proposed
	Cannot                // it would not do what it is for
	Apart                 // it is shown alone, with its reason; --yes is no answer
	Ask                   // it is asked for by name
	Fine                  // it is one of many in a question
	Has                   // nothing changes
)

// verdicts has for each kind of reason, by source, a letter: N(ever), C(annot), (a)P(art), A(sk), f(ine). The owner may type anything
// but what would not start or gives more than it says: he sees why.
var verdicts = map[policy.ReasonKind]string{
	policy.WhyAllFiles:     "NNfPP",
	policy.WhyDecides:      "NNNPP",
	policy.WhyHoldsDecider: "NNffP", // a start keeps it out of a grant around it
	policy.WhyProtected:    "NNNPP",
	policy.WhyOfSystem:     "NNNPP",
	policy.WhyRaises:       "NNNPP",
	policy.WhySensitive:    "NPNPP",
	policy.WhyLogin:        "PPNPP",
	policy.WhyCommands:     "NPNPP",
	policy.WhyKeyName:      "NPNAP",
	policy.WhySocket:       "AAAfA",
	policy.WhyGitDir:       "AAAfA",
	policy.WhyOfOthers:     "AAffA",
	policy.WhyShared:       "AAffA",
	policy.WhyChoosesCode:  "NAAfA",
	policy.WhyInHome:       "AAffA",
	policy.WhyAnyHost:      "NAAfA",
	policy.WhyProxy:        "NAAfA",
	policy.WhyThisMachine:  "AAffA",
	policy.WhyTokenName:    "AAffA",

	policy.WhyOtherProgram:  "NNNPP",
	policy.WhyBesideProgram: "NAAAA",
	policy.WhyOtherFile:     "NAAfA",
	policy.WhyLifts:         "NPPPP",

	policy.WhyOwnProgram:    "NNNPP",
	policy.WhyGivesMore:     "NNNCN",
	policy.WhyDenied:        "CCCCC",
	policy.WhyNoRule:        "CCCCC",
	policy.WhyListing:       "CCCCC",
	policy.WhyWouldNotStart: "CCCCC",
}

// VerdictOf returns what a reason of a kind makes of a change from a source. That of an unknown kind is Never.
func VerdictOf(kind policy.ReasonKind, from Source) Verdict {
	row := verdicts[kind]
	if int(from) >= len(row) {
		return Never
	}
	return map[byte]Verdict{'C': Cannot, 'P': Apart, 'A': Ask, 'f': Fine}[row[from]]
}

// Want is a change that someone wants.
type Want struct {
	Tool    string // that alone would have it; "" is the whole server
	Source  Source
	Object  Object
	Besides bool // it and the one before help only together
}

// Proposal is what becomes of a change that someone wants. That of the zero Proposal is Never.
type Proposal struct {
	Want
	Rows    []Row           // what it gives, as far as that is known
	Reasons []policy.Reason // that weigh most
	verdict Verdict
}

// Verdict returns what may become of the change.
func (p Proposal) Verdict() Verdict { return p.verdict }

// IsOpen reports whether the user can allow the change, and something changes with it.
func (p Proposal) IsOpen() bool { return Cannot < p.verdict && p.verdict < Has }

// Is reports whether a reason of one of some kinds weighs most.
func (p Proposal) Is(kinds ...policy.ReasonKind) bool {
	return slices.ContainsFunc(p.Reasons, func(r policy.Reason) bool { return slices.Contains(kinds, r.Kind) })
}

// IsZero reports whether nothing was wanted.
func (p Proposal) IsZero() bool { return p.Object.IsZero() }

// Bundle gives proposals that help only together the worst of their verdicts: one, and those after it that are besides it.
// What the server has already counts for none.
func Bundle(all []*Proposal) {
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].Besides {
			end++
		}
		run := slices.DeleteFunc(slices.Clone(all[i:end]), func(p *Proposal) bool { return p.IsZero() || p.verdict == Has })
		if i = end; len(run) > 1 {
			worst := *slices.MinFunc(run, func(a, b *Proposal) int { return cmp.Compare(a.verdict, b.verdict) })
			for _, p := range run {
				p.verdict, p.Reasons = worst.verdict, worst.Reasons
			}
		}
	}
}

// Nothing returns the proposal for what the server has already.
func Nothing(w Want) Proposal { return Proposal{Want: w, verdict: Has} }

// InClient reports whether the user may be asked about a change in the client: about a host that no rule is about, at the
// ports of HTTP, or about a path to read. rules are those of the server.
func (p Proposal) InClient(rules []policy.NetRule) bool {
	o := p.Object
	if p.verdict != Fine || p.Source != Recorded {
		return false
	}
	if o.Net.Host == "" {
		return o.Fs.Rights() == policy.Read && !o.Makes()
	}
	name, err := policy.NormalizeTarget(o.Net.Host)
	_, isName := netip.ParseAddr(o.Net.Host)
	isAbout := func(r policy.NetRule) bool { return r.Covers(name, 0) }
	return err == nil && isName != nil && name == o.Net.Host && slices.Contains([]int{0, 80, 443}, o.Net.Port) && !strings.HasSuffix("."+name, ".localhost") && !slices.ContainsFunc(rules, isAbout)
}

// Judge decides about a change by what speaks against it, and by the rows of what it gives. Nothing else makes a verdict.
func Judge(w Want, reasons []policy.Reason, rows []Row) Proposal {
	p := Proposal{Want: w, Rows: rows, verdict: Fine}
	for _, r := range rows {
		if r.Lifts() {
			reasons = append(slices.Clip(reasons), policy.Reason{Kind: policy.WhyLifts, Names: append([]string{r.Name}, r.Was.Only...)})
		}
	}
	for _, r := range reasons {
		if v := VerdictOf(r.Kind, w.Source); v < p.verdict {
			p.verdict, p.Reasons = v, []policy.Reason{r}
		} else if v == p.verdict && v < Fine {
			p.Reasons = append(p.Reasons, r)
		}
	}
	if w.Source == Said { // anything can be said
		p.verdict = min(p.verdict, Ask)
	}
	return p
}
