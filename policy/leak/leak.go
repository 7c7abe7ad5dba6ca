package leak

import "slices"

// Secret is a value that must not be shown, with a name that may be shown.
type Secret struct{ Name, Value string }

// Shortest is the length of the shortest secret that is looked for. Shorter ones occur by chance.
const Shortest = run

// longestValue is how many bytes of a value are looked for at most. Of a longer value they are
// those in the middle: a document with a key in it has the key there.
const longestValue = 512

// Depth is how many layers of escapes are taken off.
const Depth = 3

// Found is a secret in a text.
type Found struct {
	Name string
	Form Form
}

// Finder looks for secrets. It may be used by several goroutines at once. A nil Finder finds
// nothing.
type Finder struct {
	names   []string
	search  *search // nil: no secret is known
	tokens  *tokenSearch
	longest int
}

// New returns a finder of secrets, and of well-known kinds of tokens if tokens is set. It returns
// nil if there is nothing to look for.
func New(secrets []Secret, tokens bool) *Finder {
	f := &Finder{longest: 2 * maxToken / expansion}
	if tokens {
		f.tokens = newTokenSearch()
	}
	var all []pattern
	known := map[pattern]bool{}
	for _, s := range secrets {
		if len(s.Value) < Shortest {
			continue
		}
		n := slices.Index(f.names, s.Name)
		if n < 0 {
			n = len(f.names)
			f.names = append(f.names, s.Name)
		}
		value := s.Value
		if more := len(value) - longestValue; more > 0 {
			value = value[more/2:][:longestValue]
		}
		for _, p := range formsOf(value) {
			p.secret = n
			if !known[p] {
				known[p], all = true, append(all, p)
				f.longest = max(f.longest, len(p.text))
			}
		}
	}
	if all != nil {
		f.search = newSearch(all)
	}
	if all == nil && !tokens {
		return nil
	}
	return f
}

// Find returns the secrets in a text, each once, in the form that was found first.
func (f *Finder) Find(text []byte) (all []Found) {
	if f == nil {
		return nil
	}
	add := func(name string, form Form) {
		if !slices.ContainsFunc(all, func(o Found) bool { return o.Name == name }) {
			all = append(all, Found{name, form})
		}
	}
	if f.search != nil {
		for _, p := range f.search.suspects(text) {
			f.search.look(text[p.from:p.to], func(p *pattern) bool {
				add(f.names[p.secret], p.form)
				return len(all) < len(f.names)
			})
			if len(all) == len(f.names) {
				break
			}
		}
	}
	if f.tokens != nil {
		f.tokens.find(text, func(name string) { add(name, Token) })
	}
	return all
}
