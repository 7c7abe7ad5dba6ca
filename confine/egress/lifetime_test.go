package egress

import (
	"testing"
	"testing/synctest"
	"time"
)

type closer struct{ closed bool }

func (c *closer) Close() error { c.closed = true; return nil }

// TestLifetimeEnds checks that end stops at once what runs for the jail, lets connections drain for
// their time, closes what it was given, and waits for all goroutines, and that nothing begins
// afterwards.
func TestLifetimeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lifetime
		l.begin()
		var before, after closer
		if !l.closeAtEnd(&before) || before.closed {
			t.Error("it does not keep what it is to close")
		}
		var drained, jailed, retried time.Duration
		began := time.Now()
		ended := false
		if !l.spawnServing(func() { <-l.ctx.Done(); drained = time.Since(began) }) {
			t.Error("no connection begins")
		}
		if !l.spawn(func() { <-l.ctx.Done(); time.Sleep(time.Minute); ended = true }) {
			t.Error("no goroutine begins")
		}
		l.spawn(func() { <-l.jailCtx.Done(); jailed = time.Since(began) })
		l.spawn(func() {
			for l.waitRetry() {
			}
			retried = time.Since(began)
		})
		time.Sleep(acceptRetry / 2)
		began = time.Now()
		l.end()
		if jailed != 0 || retried != 0 {
			t.Errorf("what runs for the jail ended after %v and %v", jailed, retried)
		}
		if drained != defaultDrainLimits.timeout || !ended || !before.closed {
			t.Errorf("drained for %v, all ended %t, closed %t", drained, ended, before.closed)
		}
		if l.spawn(func() {}) || l.spawnServing(func() {}) || l.closeAtEnd(&after) || !after.closed || l.waitRetry() {
			t.Error("something begins after the end")
		}
	})
}
