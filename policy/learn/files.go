package learn

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A need is a path with the rights that were used there, each with the uses that it is for.
type need struct {
	path string
	dir  bool
	by   map[policy.Rights][]*use
}

func (n *need) rights() (r policy.Rights) {
	for right := range n.by {
		r |= right
	}
	return r
}

func (n *need) tally() *tally {
	t, seen := &tally{}, map[*use]bool{}
	for _, uses := range n.by {
		for _, u := range uses {
			if !seen[u] {
				t.join(&u.tally)
			}
			seen[u] = true
		}
	}
	return t
}

// needs are the needs by their path.
type needs map[string]*need

func (n needs) add(at string, dir bool, right policy.Rights, uses ...*use) {
	if n[at] == nil {
		n[at] = &need{at, dir, map[policy.Rights][]*use{}}
	}
	n[at].by[right] = append(n[at].by[right], uses...)
}

// sorted returns the needs with directories before what is in them.
func (n needs) sorted() (all []*need) {
	for _, one := range n {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *need) int { return strings.Compare(a.path, b.path) })
	return all
}

func (l *learner) addFiles() {
	// The path of a name that was made or removed must have no rule of its own: an entry keeps its place.
	moved := map[string]bool{}
	kept := []*use{}
	l.capUses()
	for k, u := range l.uses {
		if l.Bare.Allows(u.op, u.path) {
			continue
		}
		if reason, why := l.reason(u); reason != "" {
			l.left.add(k, reason, why, &u.tally)
			continue
		}
		kept = append(kept, u)
		if u.op == policy.OpCreate || u.op == policy.OpMkdir || u.op == policy.OpRemove {
			moved[u.path] = true
		}
	}
	all := needs{}
	for _, u := range kept {
		l.place(all, moved, u)
	}
	l.dropAbsent(all)
	l.collapse(all)
	l.capFiles(all)
	for _, n := range all.sorted() {
		l.places = append(l.places, place{n.path, l.written(n.path), n.dir, l.inWorkspace(n.path), n.rights(), n.tally(), nil})
	}
	l.hide(moved)
	l.rules = append(l.rules, fsRules(l.places, nil)...)
}

// maxUses is how many operations on paths are looked at.
const maxUses = 5000

func (l *learner) capUses() {
	if len(l.uses) <= maxUses {
		return
	}
	all := slices.SortedFunc(maps.Values(l.uses), func(a, b *use) int {
		return cmp.Or(a.before(&b.tally), strings.Compare(a.path, b.path), cmp.Compare(a.op, b.op))
	})
	for _, u := range all[maxUses:] {
		l.leave(u, Capped, "")
		delete(l.uses, key{policy.AxisFs, u.op.String(), u.path})
	}
}

func (l *learner) leave(u *use, reason Reason, why string) {
	l.left.add(key{policy.AxisFs, u.op.String(), u.path}, reason, why, &u.tally)
}

// place finds the path whose rule allows a use, and adds the right to it.
func (l *learner) place(all needs, moved map[string]bool, u *use) {
	at, right := u.path, policy.Read
	switch u.op {
	case policy.OpWrite, policy.OpTruncate:
		right = policy.Update
	case policy.OpCreate, policy.OpMkdir:
		at, right = path.Dir(at), policy.Create
	case policy.OpRemove:
		at, right = path.Dir(at), policy.Delete
	}
	own := at
	if top := outermost(moved, at); top != "" {
		at = path.Dir(top)
	} else if l.Facts.Kind(at) == 0 && (right == policy.Read || right == policy.Update) {
		l.leave(u, Absent, "")
		return
	}
	for at != path.Dir(at) && l.Facts.Kind(at) == 0 {
		at = path.Dir(at)
	}
	dir := l.Facts.Kind(at) == policy.KindDir
	if why := l.wide(at); dir && why != "" {
		if l.Facts.Kind(own) != policy.KindFile || right&policy.FileRights == 0 {
			l.leave(u, Wide, why)
			return
		}
		at, dir = own, false // the file itself can still be named
	}
	switch {
	case !dir && l.Facts.Kind(at) != policy.KindFile:
		l.leave(u, Socket, "")
		return
	case !dir && right&policy.FileRights == 0: // a name in a file
		l.leave(u, Absent, "")
		return
	case right != policy.Read && !l.inWorkspace(at) && l.Facts.Guarded(at, true) != "":
		l.leave(u, Protected, l.Facts.Guarded(at, true))
		return
	}
	all.add(at, dir, right, u)
	// A file that stays is there in the next session, which opens or replaces it.
	if u.op == policy.OpCreate && l.uses[key{policy.AxisFs, policy.OpRemove.String(), u.path}] == nil {
		all.add(at, dir, policy.Update, u)
	}
}

// outermost returns the shortest of the paths that at is or lies in, or "".
func outermost(paths map[string]bool, at string) string {
	for i := 1; i <= len(at); i++ {
		if (i == len(at) || at[i] == '/') && paths[at[:i]] {
			return at[:i]
		}
	}
	return ""
}

// dropAbsent forgets what was looked for in vain below a path that has a rule to read: it will be
// looked for in vain there again.
func (l *learner) dropAbsent(all needs) {
	for k, u := range l.left {
		if u.reason != Absent || k.operation != policy.OpRead.String() && k.operation != policy.OpList.String() {
			continue
		}
		for _, n := range all {
			if n.dir && n.rights().Has(policy.Read) && policy.Within(k.target, n.path) {
				delete(l.left, k)
				break
			}
		}
	}
}

// collapse lets a directory stand for several paths in it, from the deepest to the outermost.
func (l *learner) collapse(all needs) {
	for {
		children := map[string]map[policy.Rights][]*need{}
		for _, n := range all {
			if !n.dir && SecretName(path.Base(n.path)) {
				continue // it is named, or is hidden
			}
			up := path.Dir(n.path)
			if children[up] == nil {
				children[up] = map[policy.Rights][]*need{}
			}
			for right := range n.by {
				children[up][right] = append(children[up][right], n)
			}
		}
		dirs := []string{}
		for dir, by := range children {
			for _, group := range by {
				if len(group) >= several && l.wide(dir) == "" {
					dirs = append(dirs, dir)
					break
				}
			}
		}
		if len(dirs) == 0 {
			return
		}
		depth := func(dir string) int { return strings.Count(dir, "/") }
		deepest := depth(slices.MaxFunc(dirs, func(a, b string) int { return depth(a) - depth(b) }))
		for _, dir := range dirs {
			if depth(dir) == deepest {
				l.lift(all, dir, children[dir])
			}
		}
	}
}

func (l *learner) lift(all needs, dir string, by map[policy.Rights][]*need) {
	for right, group := range by {
		if len(group) < several {
			continue
		}
		for _, n := range group {
			all.add(dir, true, right, n.by[right]...)
			delete(n.by, right)
			if len(n.by) == 0 {
				delete(all, n.path)
			}
		}
	}
}

// capFiles bounds the number of rules: first of the files that are named one by one in a directory
// that is too wide, then of all.
func (l *learner) capFiles(all needs) {
	order := all.sorted()
	outside, first := map[*need]int{}, map[*need]*tally{}
	for _, n := range order {
		first[n] = n.tally()
		if !l.inWorkspace(n.path) {
			outside[n] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b *need) int {
		return cmp.Or(outside[a]-outside[b], first[a].before(first[b]))
	})
	singles, n := map[string]int{}, 0
	for _, one := range order {
		up := path.Dir(one.path)
		if !one.dir && l.wide(up) != "" {
			singles[up]++
		}
		if n++; n <= maxFs && singles[up] <= maxSingles {
			continue
		}
		n--
		for _, uses := range one.by {
			for _, u := range uses {
				l.leave(u, Capped, "")
			}
		}
		delete(all, one.path)
	}
}
