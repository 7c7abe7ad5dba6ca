package config

import (
	"testing"
)

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := Decode([]byte(everyKey), "f"); err != nil {
			b.Fatal(err)
		}
	}
}
