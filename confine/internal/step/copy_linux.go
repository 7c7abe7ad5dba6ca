package step

// stepCopies is the step that fails where the kernel makes no overlay.
const StepCopies = "copies"
