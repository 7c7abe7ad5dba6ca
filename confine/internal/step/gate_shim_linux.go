package step

const StepNetwork = "network"
