package learning

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Limits of what is observed. A program chooses the names and the paths.
const (
	maxObserved      = 1024 // of each operation
	maxRequestsAHost = 64   // of one host and port; further ones are counted together
	maxPathBytes     = 200
	maxPathSegments  = 4
)

// Observations keep what Options.Observe has not been told yet. A goroutine tells it, so that no
// connection waits for that.
type Observations struct {
	tell func(policy.Observation) // nil: nothing is observed
	wake chan struct{}            // something new is there

	telling  sync.Mutex // one flush comes after the other
	mu       sync.Mutex
	all      map[observedKey]*policy.Observation // Count is how many were not told yet
	requests map[string]int                      // requests that are known, by target
	known    map[string]int                      // what is known, by operation
}

type observedKey struct {
	operation, target, scheme, request string
	refused, absent                    bool
}

// Begin has tell told of what is recorded, in a goroutine that spawn starts and done ends. nil observes
// nothing.
func (o *Observations) Begin(tell func(policy.Observation), spawn func(func()) bool, done <-chan struct{}) {
	if tell == nil {
		return
	}
	o.tell, o.wake = tell, make(chan struct{}, 1)
	o.all, o.requests = map[observedKey]*policy.Observation{}, map[string]int{}
	o.known = map[string]int{}
	spawn(func() {
		for {
			select {
			case <-o.wake:
				o.Flush()
			case <-done:
				return
			}
		}
	})
}

// Record counts an observation. A repetition is told later, with the next new one or at the end.
func (o *Observations) Record(operation, target string, p policy.Observation) {
	if o.tell == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := observedKey{operation, target, p.Scheme, p.Request, p.Refused, p.Absent}
	if p.Request != "" && o.all[key] == nil {
		if o.requests[target] >= maxRequestsAHost {
			method, _, _ := strings.Cut(p.Request, " ")
			key.request = "* " + policy.DenialOthers
			if len(method) <= 7 { // those of HTTP that are in use
				key.request = method + " " + policy.DenialOthers
			}
		} else {
			o.requests[target]++
		}
	}
	if o.known[operation] >= maxObserved && o.all[key] == nil {
		key = observedKey{operation: operation, target: policy.DenialOthers, refused: p.Refused}
	}
	known := o.all[key]
	if known == nil {
		known = &policy.Observation{
			Axis: policy.AxisNet, Operation: key.operation, Target: key.target, Scheme: key.scheme, Request: key.request,
			Refused: key.refused, Absent: key.absent, Time: time.Now(),
		}
		o.all[key] = known
		o.known[operation]++
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	known.Count++
}

// Flush tells what was not told yet, oldest first.
func (o *Observations) Flush() {
	if o.tell == nil {
		return
	}
	o.telling.Lock()
	defer o.telling.Unlock()
	var due []policy.Observation
	o.mu.Lock()
	for _, p := range o.all {
		if p.Count > 0 {
			due = append(due, *p)
			p.Count = 0
		}
	}
	o.mu.Unlock()
	slices.SortFunc(due, func(a, b policy.Observation) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Target, b.Target), strings.Compare(a.Request, b.Request))
	})
	for _, p := range due {
		o.tell(p)
	}
}

// RequestIn returns the method and the path of the request line at the beginning of b, without a query,
// which can hold secrets. It returns "" if there is none.
func RequestIn(b []byte) string {
	line, _, _ := strings.Cut(string(b[:min(len(b), 8<<10)]), "\n")
	method, target, ok := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
	target, _, versioned := strings.Cut(target, " ")
	if !ok || !versioned || len(method) > 32 {
		return ""
	}
	if i := strings.Index(target, "://"); i >= 0 { // of a proxy
		_, rest, _ := strings.Cut(target[i+3:], "/")
		target = "/" + rest
	}
	if i := strings.IndexAny(target, "?#;"); i >= 0 {
		target = target[:i]
	}
	return method + " " + pathPrefix(target)
}

// pathPrefix returns the beginning of a path: its first segments, whole ones as far as they fit.
func pathPrefix(path string) string {
	parts := strings.SplitAfterN(path, "/", maxPathSegments+2)
	if len(parts) > maxPathSegments+1 {
		parts = parts[:maxPathSegments+1]
		path = strings.Join(parts, "")
	}
	for len(path) > maxPathBytes && len(parts) > 1 {
		parts = parts[:len(parts)-1]
		path = strings.Join(parts, "")
	}
	return path[:min(len(path), maxPathBytes)]
}
