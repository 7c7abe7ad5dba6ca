package confine

func runLauncher() {}
