package confine

import "testing"

// TestMemoryWatchIsNotBlind: a /proc that cannot be read is not a jail that uses
// nothing.
func TestMemoryWatchIsNotBlind(t *testing.T) {
	w := memoryWatch{proc: "/proc", limit: 1 << 62}
	if _, _, _, err := w.sample(); err != nil || w.used == 0 {
		t.Errorf("the control: %d bytes, %v", w.used, err)
	}
	w.proc = t.TempDir() + "/missing"
	if over, _, _, err := w.sample(); err == nil || over {
		t.Errorf("nothing to read: over %v, error %v", over, err)
	}
}
