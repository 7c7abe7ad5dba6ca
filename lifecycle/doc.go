package lifecycle
