package attacker

import (
	"maps"
	"runtime"
)

// The verbs of the attacks: what a program would do to get at something. Each
// succeeds only when it has what it came for.

func AttackVerbs() map[string]func([]string) (string, error) {
	verbs := map[string]func([]string) (string, error){
		"call": callThrough(nativeGate), "reaches": reachThrough(nativeGate),
	}
	if runtime.GOARCH == "amd64" {
		for name, g := range map[string]gate{"i386-": i386Gate, "x32-": x32Gate} {
			verbs[name+"call"], verbs[name+"reaches"] = callThrough(g), reachThrough(g)
		}
	}
	maps.Copy(verbs, fileVerbs())
	maps.Copy(verbs, processVerbs())
	maps.Copy(verbs, kernelVerbs())
	maps.Copy(verbs, NetworkVerbs())
	maps.Copy(verbs, egressVerbs())
	maps.Copy(verbs, greetingVerbs())
	maps.Copy(verbs, streamVerbs())
	maps.Copy(verbs, socketVerbs())
	verbs["callback"], verbs["parting"], verbs["foreign-program"] = callbackVerb, partingVerb, silent(runForeign)
	return verbs
}
