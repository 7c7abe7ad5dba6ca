// Package play is the common part of the clients in Go: they read a plan from standard
// input, do its actions in order, and print a report.
// ../play.mjs does the same for the clients written in JavaScript.
package play

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Sample is the answer of every client to a request for a sample.
const Sample = "an answer – ünïcode 🙂"

// A Plan is a session: the server to start, and the actions.
type Plan struct {
	Mode    string
	Server  Server
	Roots   []Root
	Actions []*Action
}

// A Server is a command with its environment.
type Server struct {
	Command string
	Args    []string
	Dir     string `json:"cwd"`
	Env     map[string]string
}

// Environ returns the whole environment of the command.
func (s Server) Environ() []string {
	env := []string{}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// A Root is an entry of the answer to roots/list.
type Root struct{ URI, Name string }

// An Action is one step of a session.
type Action struct {
	Do       string
	Name     string
	With     map[string]any
	URI      string
	Level    string
	Method   string
	Count    int
	Ref      Ref
	Argument struct{ Name, Value string }
	Progress bool
	First    int  // keep this many items
	Cancel   *int // cancel after this many notifications; 0: after a delay
	Of       []*Action
}

// A Ref names the prompt or resource to complete.
type Ref struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// Words are the arguments of a prompt.
func (a *Action) Words() map[string]string {
	words := map[string]string{}
	for name, value := range a.With {
		words[name] = fmt.Sprint(value)
	}
	return words
}

// A Fault is an error as the library returns it.
type Fault struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// A Client is a connected client.
type Client interface {
	Do(ctx context.Context, a *Action, token string) (any, error)
	Fault(error) Fault
	Close() error
}

// A Log keeps the requests and notifications of the server.
type Log struct {
	mu       sync.Mutex
	asked    map[string][]any
	heard    map[string][]any
	progress map[string][]any
	after    map[string]func(int)
}

// Asked records a request of the server.
func (l *Log) Asked(method string, params any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[method] = append(l.asked[method], plain(params))
}

// Heard records a notification.
func (l *Log) Heard(method string, params any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[method] = append(l.heard[method], plain(params))
}

// Progress records a notification of progress with its call.
func (l *Log) Progress(params any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, _ := plain(params).(map[string]any)
	token := fmt.Sprint(p["progressToken"])
	l.progress[token] = append(l.progress[token], p)
	if f := l.after[token]; f != nil {
		f(len(l.progress[token]))
	}
}

// plain returns a copy of v, made through JSON.
func plain(v any) (out any) {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return err.Error()
	}
	return out
}

// Content returns the answer to an elicitation with a schema.
func Content(schema any) map[string]any {
	s, _ := plain(schema).(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	content := map[string]any{}
	for name, v := range properties {
		p, _ := v.(map[string]any)
		choices := choicesOf(p)
		switch p["type"] {
		case "boolean":
			content[name] = true
		case "integer", "number":
			content[name] = 7
			if least, ok := p["minimum"].(json.Number); ok {
				content[name], _ = least.Float64()
			}
		case "array":
			items, _ := p["items"].(map[string]any)
			if choices = choicesOf(items); len(choices) > 0 {
				content[name] = choices[:1]
			}
		default:
			content[name] = "some words"
			formats := map[any]string{"email": "a@example.org", "uri": "https://example.org/", "date": "2026-07-28", "date-time": "2026-07-28T00:00:00Z"}
			if example, ok := formats[p["format"]]; ok {
				content[name] = example
			}
			if len(choices) > 0 {
				content[name] = choices[0]
			}
		}
	}
	return content
}

func choicesOf(schema map[string]any) []any {
	if choices, ok := schema["enum"].([]any); ok {
		return choices
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		var choices []any
		list, _ := schema[key].([]any)
		for _, v := range list {
			if c, ok := v.(map[string]any); ok {
				choices = append(choices, c["const"])
			}
		}
		if len(choices) > 0 {
			return choices
		}
	}
	return nil
}

type report struct {
	Server  any              `json:"server"`
	Answers []any            `json:"answers"`
	Asked   map[string][]any `json:"asked"`
	Heard   map[string][]any `json:"heard"`
}

// Main plays the plan on standard input with a client that open connects.
func Main(open func(context.Context, *Plan, *Log) (Client, any, error)) {
	var plan Plan
	input, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.Unmarshal(input, &plan)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	log := &Log{asked: map[string][]any{}, heard: map[string][]any{}, progress: map[string][]any{}, after: map[string]func(int){}}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var r report
	c, server, err := open(ctx, &plan, log)
	if err != nil {
		r.Answers = append(r.Answers, map[string]string{"connect": err.Error()})
	} else {
		r.Server = plain(server)
		p := player{client: c, log: log}
		for i, action := range plan.Actions {
			r.Answers = append(r.Answers, p.act(ctx, action, fmt.Sprint("p", i)))
		}
		c.Close()
	}
	log.mu.Lock()
	r.Asked, r.Heard = log.asked, log.heard
	err = json.NewEncoder(os.Stdout).Encode(r)
	log.mu.Unlock()
	if err != nil {
		os.Exit(1)
	}
}

type player struct {
	client Client
	log    *Log
}

func (p player) act(ctx context.Context, a *Action, token string) any {
	answer := map[string]any{"do": a.Do}
	switch a.Do {
	case "at once":
		answers := make([]any, len(a.Of))
		var all sync.WaitGroup
		for i, one := range a.Of {
			all.Go(func() { answers[i] = p.act(ctx, one, fmt.Sprint(token, ".", i)) })
		}
		all.Wait()
		answer["result"] = answers
		return answer
	case "hear":
		return p.hear(a)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.Cancel != nil {
		if *a.Cancel == 0 {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		p.log.mu.Lock()
		p.log.after[token] = func(n int) {
			if n == *a.Cancel {
				cancel()
			}
		}
		p.log.mu.Unlock()
	}
	if !a.Progress {
		token = ""
	}
	if a.With == nil {
		a.With = map[string]any{}
	}
	result, err := p.client.Do(ctx, a, token)
	if err != nil {
		answer["error"] = p.client.Fault(err)
	} else {
		answer["result"] = plain(result)
	}
	if a.Progress {
		p.settle(token, a.First)
		p.log.mu.Lock()
		defer p.log.mu.Unlock()
		progress := p.log.progress[token]
		// Drop what comes after a cancellation: it depends on timing. In some servers the
		// last steps also race with the end.
		keep := len(progress)
		if a.First > 0 {
			keep = a.First
		}
		if a.Cancel != nil {
			keep = *a.Cancel
		}
		progress = progress[:min(keep, len(progress))]
		answer["progress"] = progress
	}
	return answer
}

// settle waits for progress that the server sent before the answer and that the library
// may deliver after it.
func (p player) settle(token string, wanted int) {
	for range 500 {
		p.log.mu.Lock()
		n := len(p.log.progress[token])
		p.log.mu.Unlock()
		if n >= wanted {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p player) hear(a *Action) any {
	for range 1000 {
		p.log.mu.Lock()
		n := len(p.log.heard[a.Method])
		p.log.mu.Unlock()
		if n >= a.Count {
			return map[string]any{"do": a.Do, "result": a.Count}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return map[string]any{"do": a.Do, "error": a.Method + " was not heard so often"}
}
