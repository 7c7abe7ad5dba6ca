package spec

// runsAtOnce is GOMAXPROCS of the shim. Three threads keep their place in Go's scheduler
// while they wait for a moment: the builder for the exec, the receiver and a worker for
// what comes next (see patience).
const RunsAtOnce = 3
