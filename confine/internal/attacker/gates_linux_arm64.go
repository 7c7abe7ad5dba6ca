package attacker

// lowMemory: this machine has one gate, which takes every address.
const lowMemory = 0
