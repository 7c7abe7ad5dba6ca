package attacker

// lowMemory: this kernel has one ABI, which takes every address.
const lowMemory = 0
