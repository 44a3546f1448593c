"""Store of an agent with its platform in another process, over HTTP."""
