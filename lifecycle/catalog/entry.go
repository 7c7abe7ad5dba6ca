package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// Entry holds the answers of a server to one client.
type Entry struct {
	Answers map[string]Answer // by the name that Request returns
}

// Answer is one answer, a result or an error, with the bytes that the server sent.
type Answer struct {
	Result json.RawMessage // the value of "result", a JSON object
	Error  json.RawMessage // or that of "error"
	Stored time.Time       // when it was received
	TTL    time.Duration   // how long it may be used, where HasTTL
	HasTTL bool            // the server has sent a TTL; an answer without one must be revalidated
}

// Fresh reports whether the answer may still be used. An answer from the future is not
// fresh: the clock was set back, and the age is unknown.
func (a Answer) Fresh(now time.Time) bool {
	limit := MaxAge
	if a.HasTTL {
		limit = min(a.TTL, MaxTTL)
	}
	age := now.Round(0).Sub(a.Stored.Round(0)) // by the wall clock, which other programs share
	return age >= 0 && age < limit
}

// MaxAge bounds the age of answers without a TTL, and of files that are not used.
const MaxAge = 30 * 24 * time.Hour

// MaxFile bounds a file, in bytes.
const MaxFile = 8 << 20

// format is the version of the file format below. A file of another version counts as
// missing.
const format = 1

// content is the JSON form of a file. Answers are base64 in it, since JSON inside JSON
// would not keep their bytes.
type content struct {
	Format  int                     `json:"format"`
	Server  string                  `json:"server"` // as in the file's name
	Key     string                  `json:"key"`
	Answers map[string]storedAnswer `json:"answers"`
}

type storedAnswer struct {
	Result []byte    `json:"result,omitempty"`
	Error  []byte    `json:"error,omitempty"`
	Stored time.Time `json:"stored"`
	TTL    *int64    `json:"ttl_ms,omitempty"`
}

func encode(server, key string, e *Entry) ([]byte, error) {
	c := content{Format: format, Server: server, Key: key, Answers: map[string]storedAnswer{}}
	size := 0
	for name, a := range e.Answers {
		w := storedAnswer{Result: a.Result, Error: a.Error, Stored: a.Stored.Round(0).UTC()}
		if a.HasTTL {
			ms := a.TTL.Milliseconds()
			w.TTL = &ms
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of a request is not valid UTF-8: %q", name)
		}
		if err := w.check(); err != nil {
			return nil, fmt.Errorf("the answer to %q: %w", name, err)
		}
		c.Answers[name] = w
		if size += len(name) + (len(a.Result)+len(a.Error))/3*4; size > MaxFile {
			return nil, errTooLarge
		}
	}
	text, err := json.Marshal(c)
	if err == nil && len(text) > MaxFile {
		err = errTooLarge
	}
	return text, err
}

var errTooLarge error = tooLargeError{}

type tooLargeError struct{}

func (tooLargeError) Error() string {
	return fmt.Sprintf("the answers take more than %d MiB", MaxFile>>20)
}

func (w storedAnswer) check() error {
	object := w.Result
	switch {
	case (len(w.Result) == 0) == (len(w.Error) == 0):
		return errors.New("neither or both of a result and an error")
	case len(w.Error) > 0:
		object = w.Error
	}
	if !json.Valid(object) || bytes.TrimSpace(object)[0] != '{' {
		return errors.New("not a JSON object")
	}
	if w.TTL != nil && (*w.TTL <= 0 || *w.TTL > MaxTTL.Milliseconds()) {
		return fmt.Errorf("invalid time to live: %d ms", *w.TTL)
	}
	return nil
}

// decode reads the content of a file. It refuses unknown members, another format, server or key,
// and answers that encode refuses.
func decode(server, key string, text []byte) (*Entry, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var c content
	if err := dec.Decode(&c); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("data follows the end")
	}
	switch {
	case c.Format != format:
		return nil, fmt.Errorf("unknown format %d", c.Format)
	case c.Server != server || c.Key != key:
		return nil, errors.New("it belongs to another server or key")
	}
	e := &Entry{Answers: make(map[string]Answer, len(c.Answers))}
	for name, w := range c.Answers {
		if err := w.check(); err != nil {
			return nil, err
		}
		a := Answer{Result: w.Result, Error: w.Error, Stored: w.Stored}
		if w.TTL != nil {
			a.TTL, a.HasTTL = time.Duration(*w.TTL)*time.Millisecond, true
		}
		e.Answers[name] = a
	}
	return e, nil
}
