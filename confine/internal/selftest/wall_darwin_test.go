package selftest

func landlocked(string) {}
